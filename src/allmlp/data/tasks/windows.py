"""Disjoint windows of a corpus, for tasks that predict its tokens; some are held out."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from allmlp.data.tasks.task import batches_per_epoch
from allmlp.data.tokens import Sequences, TokenFile


class Windows:
    """Disjoint windows of `context` + 1 tokens of both splits; `batches_per_epoch` batches visit each once.

    UserError for a corpus smaller than one batch.
    """

    def __init__(self, tokens: Path, context: int, batch_size: int) -> None:
        file = TokenFile(tokens)
        self.vocabulary, self.context, self.batch_size = file.vocabulary, context, batch_size
        self.train, self.held_out = (file.sequences("train", context + 1), file.sequences("validation", context + 1))
        what = f"windows of {context + 1} tokens"
        self.batches_per_epoch = batches_per_epoch(len(self.train), batch_size, tokens, what)

    def rows(self, position: int) -> slice:
        """Which of an epoch's windows, in its order, are batch number `position`."""
        return slice(position * self.batch_size, (position + 1) * self.batch_size)

    def held_out_blocks(self, most: int, at_once: int) -> list[Tensor]:
        """The first windows of held-out documents, `most` at most, in blocks of `at_once`."""
        count = min(len(self.held_out), most)
        return [read(self.held_out, np.arange(i, min(i + at_once, count))) for i in range(0, count, at_once)]


def read(windows: Sequences, rows: np.ndarray) -> Tensor:
    """Those windows, (len(rows), context + 1) int64."""
    return torch.from_numpy(windows[rows].astype(np.int64))
