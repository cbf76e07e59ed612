"""Overlap of a sample with the training text: words, pairs, sequences of four, and the longest run of words.

>>> text = Words.from_documents(["The cat sat on the mat. The dog sat."])
>>> text.share("the cat sat by the mat", 2)
0.6
>>> text.longest_run("A cat sat on the dog")
WordRun(words=4, start=2, stop=16)
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.data.tokens import TokenFile

SEARCHED = 1 << 22  # characters of a split to read by default, from its first documents
WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
END = 0  # between two documents, so that no sequence crosses it; words have numbers from 1


class WordRun(NamedTuple):
    """A run of words in a text: how many, and where its characters begin and end."""

    words: int
    start: int
    stop: int


class Words:
    """A text as numbers of its words, in lower case."""

    def __init__(self, numbers: dict[str, int], ids: NDArray[np.int64]) -> None:
        self.numbers, self.ids = numbers, ids
        self._sequences: dict[int, NDArray[np.uint64]] = {}

    @classmethod
    def from_documents(cls, documents: Iterable[str]) -> "Words":
        """The words of `documents`."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        for document in documents:
            ids += [numbers.setdefault(word.lower(), len(numbers) + 1) for word in WORD.findall(document)]
            ids.append(END)
        return cls(numbers, np.array(ids, dtype=np.int64))

    def read(self, text: str) -> NDArray[np.int64]:
        """The numbers of a text's words, -1 for unknown ones: (n,)."""
        return np.array([self.numbers.get(word.lower(), -1) for word in WORD.findall(text)], dtype=np.int64)

    def share(self, text: str, length: int) -> float:
        """Share of the sequences of `length` words of `text` that occur here; nan without any."""
        ids = self.read(text)
        if len(ids) < length:
            return float("nan")
        if length not in self._sequences:
            padded = np.concatenate([self.ids, np.full(length, END)])  # a text may be shorter than the sequence
            whole = (_windows(padded, length) != END).all(axis=1)
            self._sequences[length] = np.unique(_sequences(padded, length)[whole])
        known, found = self._sequences[length], _sequences(ids, length)
        there = (_windows(ids, length) > 0).all(axis=1) & np.isin(found, known)
        return float(there.mean())

    def longest_run(self, text: str) -> WordRun:
        """The longest run of words of `text` that occurs here, ignoring punctuation; the first if several are equal.

        By dynamic programming over both texts: O(words x words), in one pass over this text for each word of the other.
        """
        spans = [match.span() for match in WORD.finditer(text)]
        lengths, best, last = np.zeros(len(self.ids) + 1, np.int32), 0, -1
        for place, word in enumerate(self.read(text)):
            lengths[1:] = np.where(self.ids == word, lengths[:-1] + 1, 0)
            longest = int(lengths.max())
            if longest > best:
                best, last = longest, place
        return WordRun(best, spans[last - best + 1][0], spans[last][1]) if best else WordRun(0, 0, 0)


def _windows(ids: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    return np.lib.stride_tricks.sliding_window_view(ids, length)


def _sequences(ids: NDArray[np.int64], length: int) -> NDArray[np.uint64]:
    """Each run of `length` words as one number: (n - length + 1,). 64 bits: two alike are the same words."""
    number = np.zeros(len(ids) - length + 1, np.uint64)
    for place in range(length):
        number = number * np.uint64(0x9E3779B97F4A7C15) + ids[place : len(ids) - length + 1 + place].astype(np.uint64)
    return number


@cache
def corpus_words(tokens: Path, *splits: str, most: int = SEARCHED) -> Words:
    """The words of the first documents of a corpus's splits, about `most` characters of each."""
    return Words.from_documents(document for split in splits for document in _first_texts(tokens, split, most))


def _first_texts(tokens: Path, split: str, most: int) -> Iterable[str]:
    file, size = TokenFile(tokens), 0
    for ids in file.documents(split):
        text = file.decode(ids)
        yield text
        size += len(text)
        if size >= most:
            return
