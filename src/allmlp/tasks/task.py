"""What every task is: a pure source of batches, and what is logged of a model's answers."""

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from torch import Tensor

IGNORED = -1  # a target that takes no part in the loss


class Batch(NamedTuple):
    """tokens (B, T) int64; targets (B, T), or (B,) where only the last token is predicted; -1 where unsupervised."""

    tokens: Tensor
    targets: Tensor


class Task(Protocol):
    """A pure source of batches."""

    vocabulary: int
    context: int
    reads_logits: ClassVar[bool]  # do `scores` say anything of logits?

    @staticmethod
    def size(**parameters: Any) -> tuple[int, int]:
        """Sequences, and supervised tokens, of one batch, from the task's parameters alone."""
        ...

    def batch(self, seed: int, step: int) -> Batch:
        """The training batch of a step: the same for the same seed and step, on every machine."""
        ...

    def validation(self) -> list[Batch]:
        """Fixed batches that no training batch shares a document with; empty where every batch is fresh."""
        ...

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """What is logged beside the loss, e.g. {"token_accuracy": 0.9}; logits (B, T, V) or (B, V)."""
        ...


def generator(*key: int) -> np.random.Generator:
    """A counter-based generator for up to two integers: no state, no order."""
    return np.random.Generator(np.random.Philox(key=np.array([*key, 0][:2], dtype=np.uint64)))
