"""Settings of the crossover: the rows of the matrix, budgets, families, common sizes, and the search."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from allmlp.common.schema import Hyperparameters, StrictModel, refuse_unknown_names
from allmlp.data.images import patch_layout
from allmlp.models import REGISTRY
from allmlp.plan import model_facts
from allmlp.spec.protocols import Context
from allmlp.spec.settings import (
    FEWEST_SEARCHED,
    Count,
    Rate,
    RelativeOptimiser,
    Seeds,
    StudySettings,
    refuse_searched_seeds,
)
from allmlp.studies.crossover.fits import TASKS

COPYING_TYPES, FILLERS = 29, 16  # the same numbers as in the tasks; a test compares them


@dataclass(frozen=True)
class Row:
    """One task. `forms`: kind of prediction -> the task's name and parameters; `batch_size` in sequences."""

    name: str
    vocabulary: int
    context: int
    batch_size: int
    forms: dict[str, tuple[str, dict[str, Any]]]
    settings: "RowSettings"
    features: int | None = None
    corpus: str | None = None
    loss_dtype: str = "float32"

    @property
    def sizes(self) -> dict[str, int]:
        """The hyperparameters of a model that the task fixes."""
        of_patches = {} if self.features is None else {"features": self.features}
        return {"vocabulary": self.vocabulary, "context": self.context, **of_patches}


class RowSettings(StrictModel):
    """What every task may set: its own weight decay, and hyperparameters of an architecture for this task."""

    weight_decay: float | None = Field(default=None, ge=0)
    hyperparameters: dict[str, Hyperparameters] = Field(default={})


class Copying(RowSettings):
    """Strings of `string_length` letters."""

    string_length: Count
    batch_size: Count

    def row(self, name: str, context: Context) -> Row:
        parameters = {"string_length": self.string_length, "batch_size": self.batch_size}
        length = 2 * self.string_length + 2
        return Row(name, COPYING_TYPES, length, self.batch_size, {"all": ("copying", parameters)}, self)


class Text(RowSettings):
    """Windows of `context` tokens of a corpus."""

    corpus: str
    context: Count
    batch_size: Count
    validation_tokens: Count

    def row(self, name: str, context: Context) -> Row:
        parameters = {key: getattr(self, key) for key in ("context", "batch_size", "validation_tokens")}
        forms = {"all": ("next-token", parameters)}
        vocabulary = context.vocabulary(self.corpus)
        return Row(name, vocabulary, self.context, self.batch_size, forms, self, corpus=self.corpus)


class Recall(RowSettings):
    """`n_pairs` pairs of a key (of `symbols`) and a value among fillers; `n_queries` of the keys are queried."""

    context: Count
    n_pairs: Count
    n_queries: Count
    symbols: Count
    batch_size: Count

    def row(self, name: str, context: Context) -> Row:
        parameters = {key: getattr(self, key) for key in ("context", "n_pairs", "n_queries", "symbols", "batch_size")}
        forms = {"all": ("recall", parameters), "last": ("recall", {**parameters, "predicts": "last"})}
        return Row(name, FILLERS + 2 * self.symbols, self.context, self.batch_size, forms, self)


class Digits(RowSettings):
    """Images of a corpus by patches of `patch` x `patch` pixels."""

    corpus: str
    patch: Count
    batch_size: Count

    def row(self, name: str, context: Context) -> Row:
        source = context.images(self.corpus)
        patches, features = patch_layout(source.size, self.patch)
        forms = {"last": ("images", {"patch": self.patch, "batch_size": self.batch_size})}
        return Row(name, source.classes, patches, self.batch_size, forms, self, features, self.corpus)


class Addition(RowSettings):
    """All pairs modulo p at every step, a fixed share of them for training."""

    p: int = Field(gt=1)
    train_share: float = Field(gt=0, le=1)

    def row(self, name: str, context: Context) -> Row:
        parameters = {"p": self.p, "train_share": self.train_share}
        forms = {"all": ("modular-addition-causal", parameters), "last": ("modular-addition", parameters)}
        pairs = int(self.train_share * self.p * self.p)
        return Row(name, self.p, 2, pairs, forms, self, loss_dtype="float64")


class Search(StrictModel):
    """Learning rates that are tried on `seed`, each for `share` of a run's steps."""

    learning_rates: list[Rate] = Field(min_length=1)
    seed: int = Field(ge=0)
    share: float = Field(gt=0, le=1)

    def settings(self) -> Iterator[tuple[int, float]]:
        """Seed and rate of each run of the search."""
        return product([self.seed], self.learning_rates)

    @property
    def criterion(self) -> str:
        """Empty: the rate with the lowest loss is chosen."""
        return ""


class LadderSearch(StrictModel):
    """Learning rates that are tried on each of `seeds`, each for `share` of a run's steps: at every budget again.

    The rate is chosen as in `allmlp.spec.search_rules`.
    """

    learning_rates: list[Rate] = Field(min_length=1)
    seeds: Seeds = Field(min_length=FEWEST_SEARCHED)
    share: float = Field(gt=0, le=1)
    criterion: Literal["held_out_nats"] = "held_out_nats"

    def settings(self) -> Iterator[tuple[int, float]]:
        """Seed and rate of each run of the search."""
        return product(self.seeds, self.learning_rates)


class Ladder(StrictModel):
    """Skill over operations: every architecture at every width, trained once for each budget of a task.

    A training is finished at its budget, with a rate of its own and a schedule that ends there. `budgets`: task ->
    counted operations.
    """

    architectures: list[str] = Field(min_length=1)
    widths: list[Count] = Field(min_length=1)
    budgets: dict[str, list[Rate]] = Field(min_length=1)
    search: LadderSearch

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        refuse_unknown_names("architecture", self.architectures, REGISTRY)
        _refuse_unknown_tasks(self.budgets)
        return self


class Tasks(StrictModel):
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
    training. `ladders`: by name, besides the matrix.

    `families`: name -> its architectures. `hyperparameters`: those of one architecture, besides the common `d_model`,
    `n_blocks` and `n_heads`.
    """

    tasks: Tasks
    budgets: dict[str, Rate] = Field(default={})
    ladders: dict[str, Ladder] = Field(default={})
    d_model: Count
    n_blocks: Count
    n_heads: Count
    families: dict[str, list[str]] = Field(min_length=1)
    every: bool = False
    hyperparameters: dict[str, Hyperparameters] = Field(default={})
    search: Search
    optimiser: RelativeOptimiser

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        listed = [name for names in self.families.values() for name in names]
        refuse_unknown_names("architecture", [*listed, *self.hyperparameters], REGISTRY)
        if twice := {name for name in listed if listed.count(name) > 1}:
            raise ValueError(f"families: {', '.join(sorted(twice))} is in two families. Leave it in one.")
        _refuse_unknown_tasks(self.budgets)
        if not (self.budgets or self.ladders):
            raise ValueError("neither `budgets` nor `ladders`: nothing would be trained")
        for name, ladder in self.ladders.items():
            refuse_searched_seeds(ladder.search.seeds, self.seeds, f"ladders.{name}.search.seeds")
        if self.search.seed in self.seeds:
            raise ValueError(f"search.seed {self.search.seed} is one of `seeds`: rates are chosen on another seed")
        return self

    def family(self, architecture: str) -> str:
        """As listed; for a new architecture, from its class."""
        listed = (family for family, names in self.families.items() if architecture in names)
        return next(listed, None) or model_facts.declarations(architecture).family


def _refuse_unknown_tasks(budgets: dict[str, Any]) -> None:
    refuse_unknown_names("task", budgets, [name for name in TASKS if name != "retrieval"])
