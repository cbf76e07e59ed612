"""Settings of study 004: sizes that all models share, variants by name, and the parts of the study."""

from itertools import chain
from typing import Any, Self

from pydantic import Field, model_validator

from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies.settings import Count, LearningRateSearch, Optimiser, Seeds, StudySettings, refuse_searched_seeds

PUBLISHED = "two-averaging"  # the variant that, at the printed sizes, is the paper's model of 36.3 million parameters


class Variant(Strict):
    """What a variant changes of the model as published; one that hardly differs may take the search of another."""

    hyperparameters: dict[str, Any] = Field(default={})
    searched_as: str | None = None


class Pretraining(Strict):
    """The model as published, trained for longer on the study's corpus, with weights `kept` for samples."""

    seeds: Seeds
    steps: Count
    kept: list[Count] = Field(default=[])


class FineTuning(Strict):
    """What a pre-trained model goes on with, and what another begins with: `corpus`, in the first one's tokens."""

    corpus: str
    seeds: Seeds
    steps: Count


class Settings(StudySettings):
    """`variants`: name -> what it changes; `compared`: those that this scale trains with `seeds` for `steps`."""

    corpus: str
    context: Count
    d_model: Count
    n_blocks: Count
    batch_size: Count
    validation_tokens: Count
    optimiser: Optimiser
    variants: dict[str, Variant] = Field(min_length=1)
    compared: list[str] = Field(min_length=1)
    search: LearningRateSearch | None = None
    pretraining: Pretraining | None = None
    fine_tuning: FineTuning | None = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        others = [variant.searched_as for variant in self.variants.values() if variant.searched_as]
        refuse_unknown_names("variant", [PUBLISHED, *self.compared, *others], self.variants)
        if self.fine_tuning and not self.pretraining:
            raise ValueError("fine_tuning goes on from pretraining: give both, or neither")
        if (
            self.fine_tuning
            and self.pretraining
            and (late := set(self.fine_tuning.seeds) - set(self.pretraining.seeds))
        ):
            raise ValueError(
                f"fine_tuning.seeds {sorted(late)} are not among pretraining.seeds, whose runs they go on from"
            )
        if self.search:
            further = [part.seeds for part in (self.pretraining, self.fine_tuning) if part]
            refuse_searched_seeds(self.search.seeds, {*self.seeds, *chain(*further)}, "search.seeds")
        return self


def tested(steps: int) -> tuple[int, ...]:
    """Steps at which the held-out loss is taken: eight evenly over the first quarter ("early"), six over the rest."""
    early = (steps * place // 32 for place in range(1, 9))
    later = (steps * place // 8 for place in range(3, 8))
    return tuple(sorted({*early, *later} - {0, steps}))
