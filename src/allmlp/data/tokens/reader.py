"""A folder of tokens, memory-mapped: documents without a copy, disjoint windows of a split, decoded text."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from allmlp.common.errors import UserError
from allmlp.data.tokenizers import Tokenizer, load
from allmlp.data.tokens.folders import Folder

Array = np.ndarray
TOKENIZER = ("tokenizer.json", "tokenizer.model")  # the files of a tokenizer: one of these, or both


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
    window. `windows[rows]` is (len(rows), length): a copy of the file's type. Only these windows are read.
    """

    def __init__(self, values: list[Array], length: int, dtype: np.dtype) -> None:
        self._values, self.length, self.dtype = values, length, dtype
        self._first = np.cumsum([0, *map(len, values)])

    def __len__(self) -> int:
        return int(self._first[-1]) // self.length

    def __getitem__(self, rows: Array) -> Array:
        if rows.size and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"windows {rows.min()} to {rows.max()} of {len(self)}")
        windows, starts = np.empty((len(rows), self.length), self.dtype), rows * self.length
        pieces = np.searchsorted(self._first, starts, side="right") - 1
        within = starts + self.length <= self._first[pieces + 1]
        for piece in np.unique(pieces):
            here = np.flatnonzero(within & (pieces == piece))
            offsets = (starts[here] - self._first[piece])[:, None] + np.arange(self.length)
            windows[here] = self._values[piece][offsets]
        for crossing in np.flatnonzero(~within):
            self._read(int(starts[crossing]), int(pieces[crossing]), windows[crossing])
        return windows

    def _read(self, start: int, piece: int, window: Array) -> None:
        """Fill `window` with the tokens from `start`, in `piece`, on, over the ends of the files' pieces."""
        filled, offset = 0, start - int(self._first[piece])
        while filled < len(window):
            part = self._values[piece][offset : offset + len(window) - filled]
            window[filled : filled + len(part)] = part
            filled, piece, offset = filled + len(part), piece + 1, 0


class TokenizerFile(Folder):
    """The tokenizer of one folder of tokens, opened and verified; the tokens themselves need not be there."""

    def _read_meta(self) -> None:
        self.vocabulary: int = self.meta["vocabulary"]
        self.eod: int = self.meta["eod"]
        self.dtype = np.dtype(self.meta["dtype"])

    def _is_read(self, name: str) -> bool:
        return name in TOKENIZER

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that made these tokens."""
        return load(self.folder, self.meta.get("tokenizer"))

    def decode(self, ids: Sequence[int] | Array) -> str:
        """The text of `ids`, without ends of documents."""
        return self.tokenizer.decode(ids)


class TokenFile(TokenizerFile):
    """One folder of tokens, opened and verified."""

    def _is_read(self, name: str) -> bool:
        return True

    def _batches(self, split: str) -> list[tuple[Array, Array]]:
        """(values, offsets) of each piece of a split, memory-mapped."""
        import pyarrow as pa

        if split not in self.meta["splits"]:
            raise UserError(f"{self.folder}: no split {split!r}. There are: {', '.join(self.meta['splits'])}.")
        found = []
        for name in self.meta["splits"][split]["shards"]:
            reader = pa.ipc.open_file(pa.memory_map(str(self.folder / name)))
            for number in range(reader.num_record_batches):
                tokens = reader.get_batch(number).column("tokens")
                values, offsets = (array.to_numpy(zero_copy_only=True) for array in (tokens.values, tokens.offsets))
                found.append((values, offsets))
        return found

    def documents(self, split: str) -> Documents:
        """The documents of "train" or "validation" in the corpus's order."""
        return Documents(self._batches(split))

    def sequences(self, split: str, length: int) -> Sequences:
        """Disjoint windows of `length` tokens of a split. UserError when the split has not even one."""
        windows = Sequences([values for values, _ in self._batches(split)], length, self.dtype)
        if not len(windows):
            count = self.meta["splits"][split]
            raise UserError(
                f"{self.folder}: the {split} split has {count['tokens']:,} tokens in {count['documents']:,} "
                f"documents, less than one window of {length}. Take more documents, or shorter ones "
                f"(`passage:` cuts long ones)."
            )
        return windows
