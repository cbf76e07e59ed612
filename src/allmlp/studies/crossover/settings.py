"""Settings of the crossover: tasks, budgets, families, common sizes, and the search."""

from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator

from allmlp import known
from allmlp.models import REGISTRY
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies.crossover.fits import TASKS
from allmlp.studies.crossover.rows import Addition, Copying, Digits, Recall, Text
from allmlp.studies.settings import Count, Rate, RelativeOptimiser, StudySettings


class Search(Strict):
    """Learning rates that are tried on `seed`, each for `share` of a run's steps."""

    learning_rates: list[Rate] = Field(min_length=1)
    seed: int = Field(ge=0)
    share: float = Field(gt=0, le=1)


class Tasks(Strict):
    """Every row of the matrix with trainings; retrieval is measured on the trainings of stories."""

    model_config = ConfigDict(serialize_by_alias=True)

    copying: Copying
    bytes: Text
    stories: Text
    recall: Recall
    multi_recall: Recall = Field(alias="multi-recall")
    digits: Digits
    addition: Addition


class Settings(StudySettings):
    """`budgets`: task -> counted operations of one training; other tasks are not run. `steps`: the most of any
    training.

    `families`: name -> its architectures. `hyperparameters`: those of one architecture, besides the common `d_model`,
    `n_blocks` and `n_heads`.
    """

    tasks: Tasks
    budgets: dict[str, Rate] = Field(min_length=1)
    d_model: Count
    n_blocks: Count
    n_heads: Count
    families: dict[str, list[str]] = Field(min_length=1)
    every: bool = False
    hyperparameters: dict[str, dict[str, Any]] = Field(default={})
    search: Search
    optimiser: RelativeOptimiser

    @model_validator(mode="after")
    def _named(self) -> Self:
        listed = [name for names in self.families.values() for name in names]
        refuse_unknown_names("architecture", [*listed, *self.hyperparameters], REGISTRY)
        if twice := {name for name in listed if listed.count(name) > 1}:
            raise ValueError(f"families: {', '.join(sorted(twice))} is in two families. Leave it in one.")
        refuse_unknown_names("task", self.budgets, [name for name in TASKS if name != "retrieval"])
        if self.search.seed in self.seeds:
            raise ValueError(f"search.seed {self.search.seed} is one of `seeds`: rates are chosen on another seed")
        return self

    def family(self, architecture: str) -> str:
        """As listed; for a new architecture, from its class."""
        listed = (family for family, names in self.families.items() if architecture in names)
        return next(listed, None) or known.of(architecture).family
