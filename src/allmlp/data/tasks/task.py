"""The interface of every task: a pure source of batches, and the scores that are logged."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from allmlp.common.errors import UserError

IGNORED = -1  # a target outside the loss


class Batch(NamedTuple):
    """tokens (B, T) int64; targets (B, T), or (B,) where only the last token is predicted; -1 where unsupervised."""

    tokens: Tensor
    targets: Tensor


class Task(Protocol):
    """A pure source of batches; every task is a subclass, for the defaults."""

    vocabulary: int
    context: int
    reads_logits: ClassVar[bool] = True  # do `scores` read logits?
    reads_parent: ClassVar[bool] = False  # is it built with `parent`, a trained run?
    size: ClassVar[Callable[..., tuple[int, int]]]  # a batch's sequences and supervised tokens, from the parameters

    def batch(self, seed: int, step: int) -> Batch:
        """The training batch of a step: the same for the same seed and step, on every machine."""

    def validation(self) -> list[Batch]:
        """Fixed batches that no training batch shares a document with; empty where every batch is fresh."""
        return []

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """The log's values beside the loss, e.g. {"token_accuracy": 0.9}; logits (B, T, V) or (B, V)."""
        return {"accuracy": accuracy(logits, batch.targets)}


def accuracy(logits: Tensor, targets: Tensor) -> float:
    """Share of supervised targets that have the largest logit; logits (..., V), targets (...)."""
    return (logits.argmax(dim=-1) == targets)[targets != IGNORED].double().mean().item()


def batches_per_epoch(count: int, batch_size: int, tokens: Path, what: str) -> int:
    """The number of whole batches of `count` examples (`what` they are, for the error). UserError if there is none."""
    if count < batch_size:
        raise UserError(
            f"{tokens}: {count:,} {what} are fewer than one batch of {batch_size}. "
            "Take a larger corpus or a smaller batch_size."
        )
    return count // batch_size


def generator(*key: int) -> np.random.Generator:
    """A counter-based generator for up to two integers: no state, no order."""
    return np.random.Generator(np.random.Philox(key=np.array([*key, 0][:2], dtype=np.uint64)))
