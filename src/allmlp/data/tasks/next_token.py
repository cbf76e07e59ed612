"""Next-token prediction at every position (002, App. B): windows of a corpus in, the same shifted by one out."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from allmlp.data.tasks.shuffle import shuffle_positions
from allmlp.data.tasks.task import Batch, Task
from allmlp.data.tasks.windows import Windows, read

RECIPE = 1
AT_ONCE = 1 << 14  # tokens of a validation batch, so that its memory is small


class NextToken(Task):
    """Disjoint windows of `context` + 1 tokens; an epoch visits each once, in an order drawn from (seed, epoch).

    Documents follow one another: a window may hold the end of one and the beginning of the next. The order is
    computed, not kept: memory is that of a batch and of `validation_tokens`.
    """

    reads_logits: ClassVar[bool] = False

    def __init__(self, tokens: Path, context: int, batch_size: int, validation_tokens: int = 1 << 16) -> None:
        self._windows, self._validation_tokens = Windows(tokens, context, batch_size), validation_tokens
        self.vocabulary, self.context = self._windows.vocabulary, context
        self.batches_per_epoch = self._windows.batches_per_epoch

    @staticmethod
    def size(context: int, batch_size: int, **_: Any) -> tuple[int, int]:
        """Windows of one batch, and their tokens, each supervised."""
        return batch_size, batch_size * context

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B, context)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        rows, count = self._windows.rows(position), len(self._windows.train)
        order = shuffle_positions(np.arange(rows.start, rows.stop), count, seed, epoch)
        return _shift_targets(read(self._windows.train, np.sort(order)))

    def validation(self) -> list[Batch]:
        """About `validation_tokens` tokens of documents that training never sees, at least one window."""
        most, at_once = (max(1, tokens // self.context) for tokens in (self._validation_tokens, AT_ONCE))
        return [_shift_targets(block) for block in self._windows.held_out_blocks(most, at_once)]


def _shift_targets(block: Tensor) -> Batch:
    return Batch(block[:, :-1], block[:, 1:])
