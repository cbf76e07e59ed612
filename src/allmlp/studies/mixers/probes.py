"""Closed-form linear probes: what a linear map can read in embeddings, learnt on training pairs (own-7).

If a matcher finds nothing, the information may be missing or not found. Ridge regression has a unique optimum, so
anything that it predicts is in the embedding. It predicts the words of the query, from the query's embedding and from
the text's; in stories these words are the hero, friend, treasure, place, helper and plot of the grammar.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PENALTIES = tuple(10.0**power for power in range(-5, 2))  # of standardised features, per pair
TUNED_ON = 10  # the last tenth of the training pairs chooses the penalty
WORD = re.compile(r"[A-Za-z]+")
FEWEST = 5  # a word must be in this many queries to be learnt


@dataclass(frozen=True)
class Ridge:
    """y = (x - mean) / spread @ weights + offset; mean, spread (D,), weights (D, W), offset (W,)."""

    mean: Array
    spread: Array
    weights: Array
    offset: Array

    def __call__(self, x_ND: Array) -> Array:
        """(N, D) -> (N, W)."""
        return (x_ND - self.mean) / self.spread @ self.weights + self.offset


def ridge(x_ND: Array, y_NW: Array) -> Ridge:
    """argmin of |y - f(x)|^2 / N + penalty |weights|^2 (Hoerl & Kennard 1970), penalty chosen on the last tenth."""
    tuned = len(x_ND) - max(1, len(x_ND) // TUNED_ON)
    tried = _fits(x_ND[:tuned], y_NW[:tuned])
    errors = {penalty: float(((fit(x_ND[tuned:]) - y_NW[tuned:]) ** 2).mean()) for penalty, fit in tried.items()}
    return _fits(x_ND, y_NW)[min(errors, key=errors.__getitem__)]


def _fits(x_ND: Array, y_NW: Array) -> dict[float, Ridge]:
    """One fit per penalty, from one decomposition."""
    mean, spread, offset = x_ND.mean(axis=0), x_ND.std(axis=0), y_NW.mean(axis=0)
    spread = np.maximum(spread, 1e-6 * max(spread.max(), 1e-12))
    z_ND = (x_ND - mean) / spread
    values_K, vectors_DK = np.linalg.eigh(z_ND.T @ z_ND / len(z_ND))
    seen_KW = vectors_DK.T @ (z_ND.T @ (y_NW - offset) / len(z_ND))
    return {
        penalty: Ridge(mean, spread, vectors_DK @ (seen_KW / (values_K + penalty)[:, None]), offset)
        for penalty in PENALTIES
    }


def explained(predicted_NW: Array, true_NW: Array) -> float:
    """Share of the variance of `true` that is explained, all columns together; below 0 if worse than its mean."""
    return 1 - float(((predicted_NW - true_NW) ** 2).sum() / ((true_NW - true_NW.mean(axis=0)) ** 2).sum())


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.lower() for word in WORD.findall(text)]


def vocabulary(texts: Sequence[str]) -> list[str]:
    """The words in at least FEWEST and at most half of the texts (so without `the` and `a`), sorted."""
    counts = Counter(word for text in texts for word in set(words(text)))
    return sorted(word for word, count in counts.items() if FEWEST <= count <= len(texts) / 2)


def bags(texts: Iterable[str], known: Sequence[str]) -> Array:
    """Which of the known words each text has: (N, W) of 0 and 1."""
    column = {word: place for place, word in enumerate(known)}
    rows = [[column[word] for word in set(words(text)) if word in column] for text in texts]
    bag_NW = np.zeros((len(rows), len(known)))
    for bag_W, found in zip(bag_NW, rows, strict=True):
        bag_W[found] = 1
    return bag_NW


def nearest(queries_NW: Array, candidates_NCW: Array) -> NDArray[np.int64]:
    """The place of the candidate with the largest cosine to each query: (N, W), (N, C, W) -> (N,)."""
    lengths_NC = np.linalg.norm(candidates_NCW, axis=-1)
    return (np.einsum("nw,ncw->nc", queries_NW, candidates_NCW) / np.maximum(lengths_NC, 1e-12)).argmax(axis=1)
