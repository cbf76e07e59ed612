"""What runs on text and on images have in common: sizes that all models share, and a run per model and seed."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, field_validator

from allmlp.models import REGISTRY
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies.copying.runs.strings import Model
from allmlp.studies.settings import Optimiser


class TrainingSettings(Strict):
    """`kept_per_decade`: steps, evenly in their logarithm, with a held-out loss."""

    corpus: str
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    steps: int = Field(gt=0)
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    kept_per_decade: int = Field(default=4, gt=0)
    models: dict[str, Model] = Field(min_length=1)
    optimiser: Optimiser

    @field_validator("models")
    @classmethod
    def _known(cls, models: dict[str, Model]) -> dict[str, Model]:
        refuse_unknown_names("architecture", models, REGISTRY)
        return models

    def trainings(self) -> Iterator[tuple[str, int]]:
        """Every architecture with every seed."""
        yield from ((architecture, seed) for architecture in self.models for seed in self.seeds)

    def optimiser_of(self, architecture: str) -> dict[str, Any]:
        """The optimiser, at the architecture's own learning rate where it has one."""
        own = self.models[architecture].learning_rate
        return self.optimiser.model_dump() | ({} if own is None else {"learning_rate": own})
