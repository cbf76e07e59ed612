"""Reproducing the input (001-26): pieces of documents in, the same tokens out.

document      a b c d e f .        (. its end), context 4
pieces        a b c d | e f .      those of `documents`, at most `context` tokens of each
padding right e f . .              targets  e f . -    (- is not in the loss)
padding left  . e f .              targets  - e f .
"""

from collections.abc import Sequence

import numpy as np
import torch

from allmlp.data.tasks.documents import Documents, pad_pieces
from allmlp.data.tasks.task import IGNORED, Batch

RECIPE = 2


class Autoencode(Documents):
    """`Documents` with every token of the input as its own target; order, splits and parameters are the same."""

    def _batch(self, pieces: Sequence[np.ndarray]) -> Batch:
        tokens = pad_pieces([piece[: self.context] for piece in pieces], self.context, self.eod, self.padding)
        lengths = torch.tensor([min(len(piece), self.context) for piece in pieces])[:, None]
        places = torch.arange(self.context)[None]
        text = places >= self.context - lengths if self.padding == "left" else places < lengths
        return Batch(tokens, torch.where(text, tokens, IGNORED))
