"""What embeddings hold, without a matcher."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from allmlp.data.tasks.embeddings import Normalisation
from allmlp.data.tasks.retrieval import Retrieval, Split
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun

POINTS = {  # what is counted -> (the key of its printed number in claims.yaml, mantissa, power of ten)
    "English sentences": ("sentences_dimensions", 1.0, 570),
    "tokens of the largest dataset": ("tokens_dimensions", 15.0, 12),
    "tokens of a dataset a million times larger": ("generalised_tokens_dimensions", 15.0, 18),
    "tokens of TinyStories": ("tinystories_dimensions", 512.0, 6),
}


@measure(
    recipe=1,
    points=exact("what the m points are"),
    key=exact("the printed number's name in claims.yaml"),
    log10_points=numeric("log10(m)", rtol=1e-12),
    logarithm_nats=numeric("ln(m)", rtol=1e-12),
    dimensions=numeric("8 ln(m), the lemma's bound at an error of 1", rtol=1e-12),
)
def dimensions() -> Rows:
    """Dimensions that hold m points by the Johnson-Lindenstrauss lemma, as the paper estimates them (001-2, E001-1).

    One row per number of points. Arithmetic; the run is not used.
    """
    for points, (key, mantissa, power) in POINTS.items():
        logarithm = math.log(mantissa) + power * math.log(10)
        yield (points, key, logarithm / math.log(10), logarithm, 8 * logarithm)


METRICS = ("cosine", "l1", "l2")
NORMALISATIONS: tuple[Normalisation, ...] = ("none", "standardised")  # as published, and as a matcher may get them


@measure(
    recipe=1,
    metric=exact("distance between query and text"),
    normalisation=exact("of the embeddings, each side by its own training split"),
    candidates=exact("texts that a query is shown"),
    top_1=numeric("share of held-out queries whose own text is the nearest", rtol=0.02, atol=0.01),
)
def distances(trained: TrainedRun) -> Rows:
    """Retrieval without a matcher: the text with the embedding nearest to the query's, on the same draws (001-21).

    One row per metric and normalisation.
    """
    task = trained.task()
    assert isinstance(task, Retrieval)
    drawn = task.held_out()
    for normalisation in NORMALISATIONS:
        queries_ND, texts_ND = task.normalise_sides(normalisation, "validation")
        candidates_BCD = texts_ND[torch.from_numpy(drawn.candidates)]
        for metric in METRICS:
            distances_BC = distance(queries_ND[torch.from_numpy(drawn.queries)], candidates_BCD, metric)
            top_1 = np.mean(distances_BC.argmin(dim=1).numpy() == drawn.places)
            yield (metric, normalisation, task.vocabulary, float(top_1))


def distance(queries_BD: Tensor, candidates_BCD: Tensor, metric: str) -> Tensor:
    """(B, D), (B, C, D) -> (B, C): 1 - cos(q, t), sum |q - t|, or the Euclidean distance."""
    if metric == "cosine":
        return 1 - torch.cosine_similarity(queries_BD[:, None], candidates_BCD, dim=-1)
    return torch.linalg.vector_norm(queries_BD[:, None] - candidates_BCD, ord={"l1": 1, "l2": 2}[metric], dim=-1)


Array = NDArray[np.float64]
PENALTIES = tuple(10.0**power for power in range(-5, 2))  # of standardised features, per pair
TUNED_ON = 10  # the last tenth of the training pairs chooses the penalty
WORD = re.compile(r"[A-Za-z]+")
FEWEST = 5  # a word must be in this many queries to be learnt


@measure(
    recipe=2,
    probe=exact("what is compared: see the module"),
    probed_words=exact("words of queries that are probed"),
    candidates=exact("texts that a query is shown"),
    explained_1=numeric("share of the held-out variance that the regression explains", rtol=0.02, atol=0.01),
    top_1=numeric("share of held-out queries whose own text comes first", rtol=0.02, atol=0.02),
)
def embedding_probes(trained: TrainedRun) -> Rows:
    """Linear probes of embeddings beside the matcher: is the information there? (001-21 to 001-27, own-7)

    If a matcher finds nothing, the information may be missing or not found. Ridge regression has a unique optimum, so
    anything that it predicts is in the embedding. It predicts the words of the query, from the query's embedding and
    from the text's; in stories these words are the hero, friend, treasure, place, helper and plot of the grammar.

    probe    what is compared by cosine, for the held-out draws                              what it lacks
    text     the query's true words, with those read in each text's embedding                the query's embedding
    query    the words read in the query's embedding, with the true words of each query      the texts' embeddings
    both     the words read in the query's embedding, with those read in each text's         nothing
    map      the query's embedding, with what a linear map makes of each text's              nothing

    One row per probe.
    """
    task = trained.task()
    assert isinstance(task, Retrieval)
    splits: tuple[Split, Split] = ("train", "validation")
    sides = {split: [side.double().numpy() for side in task.normalise_sides("standardised", split)] for split in splits}
    (queries, texts), (held_queries, held_texts) = sides["train"], sides["validation"]
    asked = {split: [task.pairs.decode(ids) for ids in task.pairs.queries(split)] for split in splits}
    asked["train"] = asked["train"][: len(queries)]
    known = vocabulary(asked["train"])
    words, held_words = bags(asked["train"], known), bags(asked["validation"], known)
    # rare words tell more than common ones: each counts by its own deviation, about its mean over the training pairs
    mean, spread = words.mean(axis=0), words.std(axis=0)
    words, held_words = (words - mean) / spread, (held_words - mean) / spread
    of_query, of_text = ridge(queries, words)(held_queries), ridge(texts, words)(held_texts)
    mapped = ridge(texts, queries)(held_texts)
    compared: dict[str, tuple[Array, Array, float]] = {
        "text": (held_words, of_text, explained_variance(of_text, held_words)),
        "query": (of_query, held_words, explained_variance(of_query, held_words)),
        "both": (
            of_query,
            of_text,
            min(explained_variance(of_text, held_words), explained_variance(of_query, held_words)),
        ),
        "map": (held_queries, mapped, explained_variance(mapped, held_queries)),
    }
    return [
        (probe, len(known), task.vocabulary, share, _top_1(task, asking, answering))
        for probe, (asking, answering, share) in compared.items()
    ]


def _top_1(task: Retrieval, asking_NW: Array, answering_NW: Array) -> float:
    drawn = task.held_out()
    right = 0
    for start in range(0, task.validation_draws, task.batch_size):
        part = slice(start, start + task.batch_size)
        found = nearest_candidate(asking_NW[drawn.queries[part]], answering_NW[drawn.candidates[part]])
        right += int(np.sum(found == drawn.places[part]))
    return right / task.validation_draws


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
    fits = {p: vectors_DK @ (seen_KW / (values_K + p)[:, None]) for p in PENALTIES}
    return {penalty: Ridge(mean, spread, weights, offset) for penalty, weights in fits.items()}


def explained_variance(predicted_NW: Array, true_NW: Array) -> float:
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


def nearest_candidate(queries_NW: Array, candidates_NCW: Array) -> NDArray[np.int64]:
    """The place of the candidate with the largest cosine to each query: (N, W), (N, C, W) -> (N,)."""
    lengths_NC = np.linalg.norm(candidates_NCW, axis=-1)
    return (np.einsum("nw,ncw->nc", queries_NW, candidates_NCW) / np.maximum(lengths_NC, 1e-12)).argmax(axis=1)
