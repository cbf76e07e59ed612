"""Which hashes were seen before: 8 bytes a document, 16 for a moment, so that 100 million documents need a GB."""

from collections.abc import Iterable

import numpy as np

RECIPE = 1


class HashSet:
    """A set of 64-bit hashes in sorted arrays, each at least twice as long as the next.

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
