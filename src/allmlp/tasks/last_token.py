"""Last-token prediction (000): `context` tokens in, the next one out, on disjoint windows of a corpus."""

from pathlib import Path

import numpy as np
from torch import Tensor

from allmlp.tasks.task import Batch, generator
from allmlp.tasks.windows import Windows, read

RECIPE = 1
VALIDATION_WINDOWS = 8192


class LastToken:
    """Disjoint windows of `context` + 1 tokens; an epoch visits each once, in an order drawn from (seed, epoch)."""

    def __init__(self, tokens: Path, context: int, batch_size: int) -> None:
        self._windows = Windows(tokens, context, batch_size)
        self.vocabulary, self.context = self._windows.vocabulary, context
        self.batches_per_epoch = self._windows.batches_per_epoch
        self._order: tuple[tuple[int, int], np.ndarray] | None = None  # of the epoch asked for last

    @staticmethod
    def size(context: int, batch_size: int) -> tuple[int, int]:
        """Windows of one batch, each supervised once."""
        return batch_size, batch_size

    def _permutation(self, seed: int, epoch: int) -> np.ndarray:
        if self._order is None or self._order[0] != (seed, epoch):
            self._order = ((seed, epoch), generator(seed, epoch).permutation(len(self._windows.train)))
        return self._order[1]

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B,)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        rows = self._permutation(seed, epoch)[self._windows.rows(position)]
        return _split(read(self._windows.train, np.sort(rows)))

    def validation(self) -> list[Batch]:
        """Up to 8,192 windows of documents that training never sees, in batches."""
        return [_split(block) for block in self._windows.held_out_blocks(VALIDATION_WINDOWS, 1024)]

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """Nothing beside the loss."""
        return {}


def _split(block: Tensor) -> Batch:
    return Batch(block[:, :-1], block[:, -1])
