"""Settings of study 001's trainings: models, their sizes and paddings, how long, and the search of rates."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from allmlp.common.schema import Hyperparameters, StrictModel, refuse_unknown_names
from allmlp.spec.settings import (
    Architecture,
    LossSearch,
    Optimiser,
    StudySettings,
    WidenedSearch,
    refuse_searched_seeds,
)

Padding = Literal["left", "right"]
Seed = Annotated[int, Field(ge=0)]
Longer = Annotated[float, Field(gt=0, le=1000)]  # the plan lists its tested steps


class Size(StrictModel):
    """Another size of a model; null means the study's own value. `longer`: its steps over the study's."""

    d_model: int = Field(gt=0)
    n_blocks: int | None = Field(default=None, gt=0)
    batch_size: int | None = Field(default=None, gt=0)
    longer: Longer = 1.0

    def name(self, model: str) -> str:
        """`flat-d8-n16`; a part that is the study's own is left out."""
        return "-".join([model, f"d{self.d_model}", *([f"n{self.n_blocks}"] if self.n_blocks else [])])


class Model(StrictModel):
    """One model of the comparison: an architecture with hyperparameters, and optionally its own width and batch.

    `longer`: its steps over the study's; fast models need more steps for comparisons at equal time and equal FLOPs.
    `learning_rate`: null if the search chooses it. `warmup_steps`: in place of the study's, in its search too; a model
    that normalises after each block needs more. `further_seeds`: besides the study's, for a rule with a small
    margin; pairs of models are compared on the seeds that both have.
    """

    architecture: Architecture
    hyperparameters: Hyperparameters = Field(default={})
    longer: Longer = 1.0
    paddings: list[Padding] = Field(default=["right"], min_length=1)
    sizes: list[Size] = Field(default=[])
    d_model: int | None = Field(default=None, gt=0)
    batch_size: int | None = Field(default=None, gt=0)
    learning_rate: float | None = Field(default=None, gt=0)
    warmup_steps: int | None = Field(default=None, ge=0)
    further_seeds: list[Seed] = Field(default=[])


class Search(WidenedSearch, LossSearch):
    """The search of rates; `further_rates` by models, or by sizes: `flat-d8-n16`.

    `in_proportion`: a size with fewer steps than the study's (`longer` below 1) has a shorter search too, so that a
    search takes the same share of time for every size.

    `criterion_of`: the models whose base size the `criterion` chooses for (null: every training). Where no rates of a
    model tie, the lowest mean is the same choice, and runs that are measured keep their ids.
    """

    in_proportion: bool = False
    criterion_of: list[str] | None = None

    @model_validator(mode="after")
    def _refuse_idle(self) -> Self:
        if self.criterion_of is not None and self.criterion is None:
            raise ValueError("`criterion_of` names models for a `criterion`, and there is none: name it, or leave both")
        return self


class TrainingSettings(StudySettings):
    """`models` by name; `compared`: those of them that a scale trains (null: all).

    `windows`: models that are also trained on windows that begin anywhere, so that position carries no information.
    `kept`: shares of a run's steps after which weights are kept for other measures, besides the end. `tested`: how
    often the held-out loss is taken within `steps`, evenly spaced. `end_token`: the id that ends a document and pads
    it: 0 for the project's BPE, checked against the corpus's tokens. With a decaying `schedule`, a loss depends on the
    run's whole budget, so only the ends of runs are compared at equal time.
    """

    corpus: str
    context: int = Field(gt=0)
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    validation_documents: int = Field(gt=0)
    optimiser: Optimiser
    end_token: int = Field(default=0, ge=0)
    tested: int = Field(default=12, gt=0)
    kept: list[Annotated[float, Field(ge=0, lt=1)]] = Field(default=[0, 0.5])
    models: dict[str, Model] = Field(min_length=1)
    compared: list[str] | None = None
    windows: list[str] = Field(default=[])
    search: Search | None = None

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        of_criterion = (self.search and self.search.criterion_of) or []
        refuse_unknown_names("model", [*(self.compared or []), *self.windows, *of_criterion], self.models)
        if self.search:
            sizes = [size.name(name) for name, model in self.models.items() for size in model.sizes]
            refuse_unknown_names("model", self.search.further_rates, [*self.models, *sizes])
            further = [seed for model in self.models.values() for seed in model.further_seeds]
            refuse_searched_seeds(self.search.seeds, [*self.seeds, *further], "search.seeds")
        return self

    def base(self, model: Model) -> Size:
        """The size of a model in the common comparison, before its further `sizes`."""
        return Size(d_model=model.d_model or self.d_model, batch_size=model.batch_size, longer=model.longer)

    @property
    def compared_models(self) -> dict[str, Model]:
        """The models that this scale trains."""
        return {name: self.models[name] for name in (self.models if self.compared is None else self.compared)}
