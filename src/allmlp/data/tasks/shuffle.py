"""Random order without an array: a permutation of 0 .. n - 1, computed index by index.

A Feistel network over pairs of half-words permutes the next power of four. Indices beyond n - 1 are permuted again
until they are below n (Black & Rogaway 2002, "cycle walking"). Memory does not grow with n.
"""

import numpy as np
from numpy.typing import NDArray

from allmlp.data.tasks.task import generator

ROUNDS = 8
Words = NDArray[np.uint64]


def shuffle_positions(positions: NDArray[np.int64], n: int, *key: int) -> NDArray[np.int64]:
    """The place of each of `positions` (0 .. n - 1) in a random order of n; `key`, two integers, is its seed."""
    half = np.uint64(max(1, ((n - 1).bit_length() + 1) // 2))
    keys = generator(*key).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)
    words = np.asarray(positions).astype(np.uint64)
    words = _feistel(words, keys, half)
    while (beyond := words >= n).any():
        words[beyond] = _feistel(words[beyond], keys, half)
    return words.astype(np.int64)


def _feistel(words: Words, keys: Words, half: np.uint64) -> Words:
    """One pass over words of two halves of `half` bits: a bijection for any `_mix_bits`."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = words >> half, words & mask
    for key in keys:
        left, right = right, left ^ (_mix_bits(right ^ key) & mask)
    return (left << half) | right


def _mix_bits(words: Words) -> Words:
    """SplitMix64's finaliser: every bit of the result depends on every bit of the word; sums wrap."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
