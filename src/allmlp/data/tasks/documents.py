"""Next-token prediction within documents (001): a piece of one document a row, padded where it is shorter.

document      a b c d e f .        (. its end), context 4
pieces        a b c d e | e f .    overlapping by one token, so that each token after the first is a target once
padding right e f . . .            targets  f . - -    (- is not in the loss)
padding left  . . e f .            targets  - - f .
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.data.tasks.shuffle import shuffle_positions
from allmlp.data.tasks.task import IGNORED, Batch, Task, batches_per_epoch
from allmlp.data.tokens import TokenFile

RECIPE = 2
Side = Literal["left", "right"]


class Documents(Task):
    """Pieces of `context` + 1 tokens at most, each visited once an epoch, in an order drawn from (seed, epoch).

    A document's end is supervised. Padding has the same token and is not. The supervised tokens do not depend on the
    side of the padding. Held out are `validation_documents` documents at most. UserError for a corpus with fewer pieces
    than one batch, and an unknown side.
    """

    reads_logits: ClassVar[bool] = False

    def __init__(
        self, tokens: Path, context: int, batch_size: int, padding: Side = "right", validation_documents: int = 256
    ) -> None:
        file = TokenFile(tokens)
        self.vocabulary, self.eod, self.context, self.batch_size = file.vocabulary, file.eod, context, batch_size
        self.padding, self._validation_documents = padding, validation_documents
        self._train, self._held_out = file.documents("train"), file.documents("validation")
        self._first = _first_pieces(self._train, context)
        what = f"pieces of documents, of {context + 1} tokens at most,"
        self.batches_per_epoch = batches_per_epoch(self.pieces, batch_size, tokens, what)

    @staticmethod
    def size(context: int, batch_size: int, **_: Any) -> tuple[int, int]:
        """Pieces of one batch, and the tokens that are supervised in it at most: padding is not."""
        return batch_size, batch_size * context

    @property
    def pieces(self) -> int:
        """Of the training split."""
        return int(self._first[-1])

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B, context)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        places = np.arange(position * self.batch_size, (position + 1) * self.batch_size)
        drawn = np.sort(shuffle_positions(places, self.pieces, seed, epoch))
        owners = np.searchsorted(self._first, drawn, side="right") - 1
        starts = (drawn - self._first[owners]) * self.context
        return self._batch(
            [self._train[owner][start : start + self.context + 1] for owner, start in zip(owners, starts, strict=True)]
        )

    def validation(self) -> list[Batch]:
        """Every piece of the first held-out documents, as many at once as in training: more would exceed the caches."""
        most = self._held_out[: self._validation_documents]
        pieces = [piece for document in most for piece in cut_pieces(document, self.context)]
        size = self.batch_size
        return [self._batch(pieces[i : i + size]) for i in range(0, len(pieces), size)]

    def _batch(self, pieces: Sequence[np.ndarray]) -> Batch:
        return shift_pieces(pieces, self.context, self.eod, self.padding)


def cut_pieces(document: np.ndarray, context: int) -> list[np.ndarray]:
    """Pieces of at most `context` + 1 tokens, each beginning with the last of the one before; none for one token."""
    return [document[start : start + context + 1] for start in range(0, len(document) - 1, context)]


def pad_pieces(pieces: Sequence[np.ndarray], width: int, pad: int, side: Side) -> Tensor:
    """Pieces of at most `width` tokens, filled up with `pad` on that side: (len(pieces), width) int64."""
    if side not in ("left", "right"):
        raise UserError(f"padding is {side!r}: it must be left or right")
    rows = np.full((len(pieces), width), pad, np.int64)
    for row, piece in zip(rows, pieces, strict=True):
        row[width - len(piece) if side == "left" else 0 :][: len(piece)] = piece
    return torch.from_numpy(rows)


def shift_pieces(pieces: Sequence[np.ndarray], context: int, pad: int, side: Side) -> Batch:
    """Pieces in, the same shifted by one out, IGNORED where the target is padding or the first token of a piece."""
    rows = pad_pieces(pieces, context + 1, pad, side)
    lengths = torch.tensor([len(piece) for piece in pieces])[:, None]
    begins = context + 1 - lengths if side == "left" else torch.zeros_like(lengths)
    places = torch.arange(1, context + 1)[None]
    supervised = (places > begins) & (places < begins + lengths)
    return Batch(rows[:, :-1], torch.where(supervised, rows[:, 1:], IGNORED))


def _first_pieces(documents: Sequence[np.ndarray], context: int) -> np.ndarray:
    """The number of each document's first piece among all pieces, then the number of pieces: int64."""
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    return np.concatenate([[0], np.cumsum(np.maximum(0, -(-(lengths - 1) // context)))])
