"""The growing memory of a generating layer: appending costs one row, not a copy of the past."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

SMALLEST = 16  # rows of the first store; a full store is replaced by one twice as large


@dataclass
class _Store:
    rows: Tensor  # (..., capacity, D)
    filled: int = 0


@dataclass(frozen=True)
class Rows:
    """The first `length` rows of a store. Continuations may share a store: none overwrites another's rows."""

    like: Tensor  # (..., 0, D): shape, device and type
    length: int = 0
    _store: _Store | None = field(default=None, repr=False)

    def append(self, row: Tensor) -> tuple[Tensor, "Rows"]:
        """Row (..., 1, D) -> (all rows, (..., length + 1, D), to be read only; the memory that follows).

        With gradients the past is copied instead, so that they are right.
        """
        store, length = self._store, self.length + 1
        if row.requires_grad and torch.is_grad_enabled():
            store = _Store(torch.cat([self._filled_rows(), row], dim=-2), length)
            return store.rows, Rows(self.like, length, store)
        if store is None or store.filled != self.length or store.rows.shape[-2] == self.length:
            grown = row.new_empty(*row.shape[:-2], max(SMALLEST, 2 * self.length), row.shape[-1])
            grown.narrow(-2, 0, self.length).copy_(self._filled_rows())
            store = _Store(grown)
        store.rows.narrow(-2, self.length, 1).copy_(row)
        store.filled = length
        return store.rows.narrow(-2, 0, length), Rows(self.like, length, store)

    def _filled_rows(self) -> Tensor:
        return self.like if self._store is None else self._store.rows.narrow(-2, 0, self.length)
