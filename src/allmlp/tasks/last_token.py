"""Last-token prediction (000): `context` tokens in, the next one out, on disjoint windows of a corpus."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from allmlp.errors import UserError
from allmlp.tasks.task import Batch, generator
from allmlp.tokens import Sequences, TokenFile

RECIPE = 1
VALIDATION_WINDOWS = 8192


class LastToken:
    """Disjoint windows of `context` + 1 tokens; an epoch visits each once, in an order drawn from (seed, epoch)."""

    def __init__(self, tokens: Path, context: int, batch_size: int) -> None:
        file = TokenFile(tokens)
        self.vocabulary, self.context, self.batch_size = file.vocabulary, context, batch_size
        self._train, self._held_out = (
            file.sequences("train", context + 1),
            file.sequences("validation", context + 1),
        )
        self.batches_per_epoch = len(self._train) // batch_size
        if not self.batches_per_epoch:
            raise UserError(
                f"{tokens}: {len(self._train)} windows of {context + 1} tokens "
                f"are fewer than one batch of {batch_size}. "
                "Take a larger corpus or a smaller batch_size."
            )
        self._order: tuple[tuple[int, int], np.ndarray] | None = None  # of the epoch asked for last

    @staticmethod
    def size(context: int, batch_size: int) -> tuple[int, int]:
        """Windows of one batch, each supervised once."""
        return batch_size, batch_size

    def _permutation(self, seed: int, epoch: int) -> np.ndarray:
        if self._order is None or self._order[0] != (seed, epoch):
            self._order = ((seed, epoch), generator(seed, epoch).permutation(len(self._train)))
        return self._order[1]

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B,)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        rows = self._permutation(seed, epoch)[position * self.batch_size : (position + 1) * self.batch_size]
        return self._windows(self._train, np.sort(rows))

    def _windows(self, windows: Sequences, rows: np.ndarray) -> Batch:
        block = torch.from_numpy(np.asarray(windows[rows]).astype(np.int64))
        return Batch(block[:, :-1], block[:, -1])

    def validation(self) -> list[Batch]:
        """Up to 8,192 windows of documents that training never sees, in batches."""
        count = min(len(self._held_out), VALIDATION_WINDOWS)
        return [self._windows(self._held_out, np.arange(i, min(i + 1024, count))) for i in range(0, count, 1024)]

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """Nothing beside the loss."""
        return {}
