"""Documents that are there twice: by their hash, or by that of their letters and digits."""

import string
from array import array
from collections.abc import Iterable
from hashlib import sha256

import numpy as np

RECIPE = 1
LOOKED_AT = 1 << 24  # documents that are looked at for repeats, in 256 MiB
SMALL = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())
BESIDE = f"{string.punctuation}{string.whitespace}".encode()  # what two near duplicates may differ in, as in case


class HashSet:
    """A set of 64-bit hashes in sorted arrays, each at least twice as long as the next: 8 bytes a document, 16 for a
    moment, so that 100 million documents need a GB.

    Among n documents two different ones share a hash with a probability of about n^2 / 2^65: 0.4 % for 400 million.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray] = []

    def add(self, hashes: Iterable[int] | np.ndarray) -> np.ndarray:
        """Add hashes. Returns (n,) bool: which of them were there neither before nor earlier in `hashes`."""
        asked = np.fromiter(hashes, np.uint64)
        values, first = np.unique(asked, return_index=True)
        known = np.zeros(len(values), bool)
        for run in self._runs:
            known |= run[np.minimum(np.searchsorted(run, values), len(run) - 1)] == values
        new = np.zeros(len(asked), bool)
        new[first[~known]] = True
        self._merge(values[~known])
        return new

    def _merge(self, run: np.ndarray) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)


def hash_bytes(data: bytes) -> int:
    """A 64-bit hash."""
    return int.from_bytes(sha256(data).digest()[:8], "big")


def near_hash(data: bytes) -> int:
    """The hash of a text in UTF-8 but for the case of ASCII letters, punctuation and blanks: near duplicates share it.

    >>> near_hash(b"Once, a cat.") == near_hash(b"once a  CAT!") != near_hash(b"Once, a cut.")
    True
    """
    return hash_bytes(data.translate(SMALL, BESIDE))


class RepeatCounter:
    """Counts repeated documents among the first `LOOKED_AT`, by their hashes; none is left out."""

    def __init__(self) -> None:
        self._exact, self._near = array("Q"), {"train": array("Q"), "validation": array("Q")}

    def add(self, split: str, exact: int, near: int) -> None:
        """A document of a split with its hashes."""
        if len(self._exact) < LOOKED_AT:
            self._exact.append(exact)
            self._near[split].append(near)

    def describe(self) -> str:
        """What was found, in words; empty if nothing is repeated."""
        exact, train, validation = (np.frombuffer(of, np.uint64) for of in (self._exact, *self._near.values()))
        copies = len(exact) - len(np.unique(exact))
        near = len(exact) - len(np.unique(np.concatenate([train, validation]))) - copies
        both = int(np.isin(validation, train).sum())
        if not copies + near:
            return ""
        of = f"of the first {len(exact):,} documents " if len(exact) == LOOKED_AT else ""
        said = f"{of}{copies:,} are exact and {near:,} near duplicates of others (but for case, punctuation and blanks)"
        return f"{said}; {both:,} of {len(validation):,} for validation have one in training"
