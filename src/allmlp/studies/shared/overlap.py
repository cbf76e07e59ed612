"""Sampled text: how much of it occurs in the training text, and how it is printed (000-17, 002-7)."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allmlp.data.tokens import TokenFile

SEARCHED = 1 << 21  # bytes of training text to search, from its first documents
WORD = re.compile(rb"[A-Za-z]+")


@cache
def training_text(tokens: Path) -> bytes:
    """The first documents of a corpus's train split as UTF-8, about SEARCHED bytes, separated by line ends."""
    file, parts, size = TokenFile(tokens), [], 0
    for ids in file.documents("train"):
        parts.append(file.decode(ids).encode())
        size += len(parts[-1])
        if size >= SEARCHED:
            break
    return b"\n".join(parts)


@cache
def known_words(tokens: Path) -> frozenset[bytes]:
    """The words of `training_text`, in lower case."""
    return frozenset(word.lower() for word in WORD.findall(training_text(tokens)))


def known_share(sample: bytes, known: frozenset[bytes]) -> float:
    """Share of a sample's whole words that are known; nan without a word. The last word may be cut off and is left
    out."""
    words = [match[0].lower() for match in WORD.finditer(sample) if match.end() < len(sample)]
    return sum(word in known for word in words) / len(words) if words else float("nan")


def longest_copy(sample: bytes, text: bytes) -> int:
    """Bytes of the longest part of `sample` that occurs in `text` word for word."""
    best = 0
    for start in range(len(sample)):
        at = 0
        while start + best < len(sample) and (at := text.find(sample[start : start + best + 1], at)) >= 0:
            best += 1
            while start + best < len(sample) and text[at + best : at + best + 1] == sample[start + best :][:1]:
                best += 1
    return best


@cache
def training_trigrams(tokens: Path) -> NDArray[np.int64]:
    """All different trigrams of tokens within the documents of the train split, as sorted numbers."""
    file = TokenFile(tokens)
    found = [trigrams(ids, file.vocabulary) for ids in file.documents("train")]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def trigrams(ids: Sequence[int] | NDArray, vocabulary: int) -> NDArray[np.int64]:
    """The trigrams of `ids`, as numbers below vocabulary^3: (n,) -> (max(n - 2, 0),)."""
    ids = np.asarray(ids, dtype=np.int64)
    return (ids[:-2] * vocabulary + ids[1:-1]) * vocabulary + ids[2:]


def known_trigrams(ids: Sequence[int] | NDArray, tokens: Path) -> float:
    """Share of the trigrams of `ids` that occur in the train split; nan for fewer than three tokens."""
    known, found = training_trigrams(tokens), trigrams(ids, TokenFile(tokens).vocabulary)
    if not len(found):
        return float("nan")
    at = np.searchsorted(known, found)
    return float((known[np.minimum(at, len(known) - 1)] == found).mean()) if len(known) else 0.0


def single_line(text: str) -> str:
    """A text for a cell of a table: line ends as ¶, unprintable characters as ·."""
    return "".join("¶ " if c == "\n" else c if c.isprintable() else "·" for c in text)
