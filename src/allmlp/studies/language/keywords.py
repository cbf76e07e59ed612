"""Tokens near a vector of the embedding space, and how coherent a set of tokens is (000-11)."""

from collections.abc import Sequence
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

NEARNESS = ("dot", "cosine", "l2")
CLEAREST = 6  # neurons of each class that the paper shows
RANDOM = "random"  # the class of vectors drawn beside them
CLEAREST_OF, EXAMPLE = "clearest", "example"  # as what a neuron is shown: for its keywords, or drawn from its class
DOCUMENTS = 20_000  # the first held-out documents, at most


def nearest_tokens(vectors_KD: NDArray, embedding_VD: NDArray, nearness: str, count: int) -> NDArray[np.int64]:
    """The `count` tokens nearest to each vector, nearest first, (K, count). Raises ValueError for another nearness."""
    vectors_KD, embedding_VD = (np.asarray(x, dtype=np.float64) for x in (vectors_KD, embedding_VD))
    dot_KV, squared_V = vectors_KD @ embedding_VD.T, (embedding_VD**2).sum(axis=1)
    if nearness == "dot":
        near_KV = dot_KV
    elif nearness == "cosine":
        near_KV = dot_KV / np.sqrt(squared_V).clip(min=1e-300)
    elif nearness == "l2":
        near_KV = 2 * dot_KV - squared_V  # minus the squared distance, up to a constant
    else:
        raise ValueError(f"nearness {nearness!r} is none of {', '.join(NEARNESS)}")
    return np.argsort(-near_KV, axis=1, kind="stable")[:, :count]


class CoOccurrence:
    """In how many of the given documents each pair of the given tokens occurs together.

    documents: arrays of ids; `vocabulary`: how many ids there are.
    """

    def __init__(self, documents: Sequence[NDArray], tokens: NDArray, vocabulary: int) -> None:
        self.tokens = np.unique(tokens)
        column_V = np.full(vocabulary, -1)
        column_V[self.tokens] = np.arange(len(self.tokens))
        there_MK = np.zeros((min(DOCUMENTS, len(documents)), len(self.tokens)), dtype=np.float32)
        for row, ids in enumerate(islice(documents, DOCUMENTS)):
            found = column_V[ids]
            there_MK[row, found[found >= 0]] = 1.0
        self.documents = len(there_MK)
        self._together_KK = there_MK.T @ there_MK  # counts, exact in float32 below 2^24

    def npmi(self, a: int, b: int) -> float:
        """log(p(a, b) / (p(a) p(b))) / -log p(a, b): -1 never together, 0 independent, 1 only together.

        p: shares of documents. nan if one of the two occurs in none; 1 if both occur in all.
        """
        i, j = np.searchsorted(self.tokens, [a, b])
        p_a, p_b, p_ab = (float(self._together_KK[x, y]) / self.documents for x, y in ((i, i), (j, j), (i, j)))
        if not p_a or not p_b:
            return float("nan")
        if not p_ab:
            return -1.0
        return float(np.log(p_ab / (p_a * p_b)) / -np.log(p_ab)) if p_ab < 1 else 1.0

    def coherence(self, tokens: Sequence[int]) -> float:
        """Mean NPMI of the pairs of `tokens` that have one; nan without any."""
        pairs = np.array([self.npmi(a, b) for a, b in combinations(tokens, 2)])
        pairs = pairs[np.isfinite(pairs)]
        return float(pairs.mean()) if len(pairs) else float("nan")
