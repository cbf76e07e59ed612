"""A folder of tokens, memory-mapped: documents without a copy, disjoint windows of a split, decoded text."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from allmlp.errors import UserError
from allmlp.tokenizers import Tokenizer, load
from allmlp.tokens.folders import Folder

Array = np.ndarray


class Documents(Sequence[Array]):
    """The documents of a split, each a read-only array of ids that ends with `eod`, without a copy."""

    def __init__(self, batches: list[tuple[Array, Array]]) -> None:
        self._batches = batches  # (values, where each document begins and the last one ends)
        self._first = np.cumsum([0, *(len(offsets) - 1 for _, offsets in batches)])

    def __len__(self) -> int:
        return int(self._first[-1])

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...
    def __getitem__(self, index: int | slice) -> Array | list[Array]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]  # negative ones too; IndexError beyond
        batch = int(np.searchsorted(self._first, position, side="right")) - 1
        values, offsets = self._batches[batch]
        row = position - int(self._first[batch])
        return values[offsets[row] : offsets[row + 1]]

    def __iter__(self) -> Iterator[Array]:
        for values, offsets in self._batches:
            for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                yield values[start:end]


class Sequences:
    """Disjoint windows of `length` tokens, cut one after the other from a split's documents joined in order.

    A window may hold the end of one document (`eod`) and the beginning of the next; the rest at the end is in no
    window. `windows[i]` is (length,), `windows[a:b]` and `windows[array of indices]` are (k, length),
    copies of the file's type. Only these are read.
    """

    def __init__(self, values: list[Array], length: int, dtype: np.dtype) -> None:
        self._values, self.length, self.dtype = values, length, dtype
        self._first = np.cumsum([0, *map(len, values)])
        self.shape = (int(self._first[-1]) // length, length)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int | slice | Sequence[int] | Array) -> Array:
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        rows = np.asarray(index)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        if rows.size and (rows.min() < -len(self) or rows.max() >= len(self)):
            raise IndexError(f"window {rows.max() if rows.max() >= len(self) else rows.min()} of {len(self)}")
        flat = np.where(rows < 0, rows + len(self), rows).reshape(-1).astype(np.int64)
        windows, starts = np.empty((len(flat), self.length), self.dtype), flat * self.length
        pieces = np.searchsorted(self._first, starts, side="right") - 1
        within = starts + self.length <= self._first[pieces + 1]
        for piece in np.unique(pieces):
            here = np.flatnonzero(within & (pieces == piece))
            offsets = (starts[here] - self._first[piece])[:, None] + np.arange(self.length)
            windows[here] = self._values[piece][offsets]
        for crossing in np.flatnonzero(~within):
            self._read(int(starts[crossing]), int(pieces[crossing]), windows[crossing])
        return windows.reshape(*rows.shape, self.length)

    def _read(self, start: int, piece: int, window: Array) -> None:
        """Fill `window` with the tokens from `start`, in `piece`, on, over the ends of the files' pieces."""
        filled, offset = 0, start - int(self._first[piece])
        while filled < len(window):
            part = self._values[piece][offset : offset + len(window) - filled]
            window[filled : filled + len(part)] = part
            filled, piece, offset = filled + len(part), piece + 1, 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:] if dtype is None else self[:].astype(dtype)


class TokenFile(Folder):
    """One folder of tokens, opened and verified."""

    def _read_meta(self) -> None:
        self.vocabulary: int = self.meta["vocabulary"]
        self.eod: int = self.meta["eod"]
        self.dtype = np.dtype(self.meta["dtype"])

    def _batches(self, split: str) -> list[tuple[Array, Array, Array]]:
        """(values, offsets, hashes) of each piece of a split, memory-mapped."""
        import pyarrow as pa

        if split not in self.meta["splits"]:
            raise UserError(f"{self.folder}: no split {split!r}. There are: {', '.join(self.meta['splits'])}.")
        found = []
        for name in self.meta["splits"][split]["shards"]:
            reader = pa.ipc.open_file(pa.memory_map(str(self.folder / name)))
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                tokens = batch.column("tokens")
                arrays = (tokens.values, tokens.offsets, batch.column("document"))
                values, offsets, hashes = (array.to_numpy(zero_copy_only=True) for array in arrays)
                found.append((values, offsets, hashes))
        return found

    def documents(self, split: str) -> Documents:
        """The documents of "train" or "validation" in the corpus's order."""
        return Documents([(values, offsets) for values, offsets, _ in self._batches(split)])

    def hashes(self, split: str) -> Array:
        """The documents' hashes, uint64, in the order of `documents`."""
        return np.concatenate([np.empty(0, np.uint64), *(hashes for _, _, hashes in self._batches(split))])

    def sequences(self, split: str, length: int) -> Sequences:
        """Disjoint windows of `length` tokens of a split.

        Raises:
            UserError: when the split has not even one.
        """
        windows = Sequences([values for values, _, _ in self._batches(split)], length, self.dtype)
        if not len(windows):
            count = self.meta["splits"][split]
            raise UserError(
                f"{self.folder}: the {split} split has {count['tokens']:,} tokens in {count['documents']:,} "
                f"documents, less than one window of {length}. Take more documents, or shorter ones "
                f"(`passage:` cuts long ones)."
            )
        return windows

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that made these tokens."""
        return load(self.folder, self.meta.get("tokenizer"))

    def decode(self, ids: Sequence[int] | Array) -> str:
        """The text of `ids`, without ends of documents."""
        return self.tokenizer.decode(ids)
