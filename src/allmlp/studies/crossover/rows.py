"""The rows of the matrix: each task with its size, in the form that suits a model's kind of prediction."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from allmlp.images import patches_of
from allmlp.protocols import Context
from allmlp.strict import Strict
from allmlp.studies.settings import Count

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


class RowSettings(Strict):
    """What every task may set: its own weight decay, and hyperparameters of an architecture for this task."""

    weight_decay: float | None = Field(default=None, ge=0)
    hyperparameters: dict[str, dict[str, Any]] = Field(default={})


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
        patches, features = patches_of(source.size, self.patch)
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
