"""Last-token prediction (000): `context` tokens in, the next one out, on disjoint windows of a corpus."""

from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from allmlp.data.tasks.shuffle import shuffle_positions
from allmlp.data.tasks.task import Batch, Task
from allmlp.data.tasks.windows import Windows, read

RECIPE = 2
VALIDATION_WINDOWS = 8192
AT_ONCE = 1 << 13  # windows in one computation of their order: many small ones take ten times as long


class LastToken(Task):
    """Disjoint windows of `context` + 1 tokens; an epoch visits each once, in an order drawn from (seed, epoch).

    The order is computed, not kept: memory does not grow with the corpus.
    """

    reads_logits: ClassVar[bool] = False

    def __init__(self, tokens: Path, context: int, batch_size: int) -> None:
        self._windows = Windows(tokens, context, batch_size)
        self.vocabulary, self.context = self._windows.vocabulary, context
        self.batches_per_epoch = self._windows.batches_per_epoch
        self._order: tuple[tuple[int, int, int], np.ndarray] | None = None  # of the last requested block of batches

    @staticmethod
    def size(context: int, batch_size: int) -> tuple[int, int]:
        """Windows of one batch, each supervised once."""
        return batch_size, batch_size

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B,)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        return _split(read(self._windows.train, np.sort(self._draw_windows(seed, epoch, position))))

    def _draw_windows(self, seed: int, epoch: int, position: int) -> np.ndarray:
        """The windows of one batch. The order is computed for several batches at once."""
        size = self._windows.batch_size
        together = max(1, AT_ONCE // size)
        block, within = divmod(position, together)
        if self._order is None or self._order[0] != (seed, epoch, block):
            first, end = block * together * size, self.batches_per_epoch * size
            positions = np.arange(first, min(first + together * size, end))
            self._order = (seed, epoch, block), shuffle_positions(positions, len(self._windows.train), seed, epoch)
        return self._order[1][within * size : (within + 1) * size]

    def validation(self) -> list[Batch]:
        """Up to 8,192 windows of documents that training never sees, in batches."""
        return [_split(block) for block in self._windows.held_out_blocks(VALIDATION_WINDOWS, 1024)]


def _split(block: Tensor) -> Batch:
    return Batch(block[:, :-1], block[:, -1])
