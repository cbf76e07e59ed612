"""Linear probes of embeddings beside the matcher: is the information there? (001-21 to 001-27, own-7)

probe    what is compared by cosine, for the held-out draws                              what it lacks
text     the query's true words, with those read in each text's embedding                the query's embedding
query    the words read in the query's embedding, with the true words of each query      the texts' embeddings
both     the words read in the query's embedding, with those read in each text's         nothing
map      the query's embedding, with what a linear map makes of each text's              nothing
"""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.mixers.probes import Array, bags, explained, nearest, ridge, vocabulary
from allmlp.tasks.retrieval import Retrieval, Split

RECIPE = 2

COLUMNS = {
    "probe": exact("what is compared: see the module"),
    "probed_words": exact("words of queries that are probed"),
    "candidates": exact("texts that a query is shown"),
    "explained_1": numeric("share of the held-out variance that the regression explains", rtol=0.02, atol=0.01),
    "top_1": numeric("share of held-out queries whose own text comes first", rtol=0.02, atol=0.02),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per probe."""
    task = trained.task()
    assert isinstance(task, Retrieval)
    splits: tuple[Split, Split] = ("train", "validation")
    sides = {split: [side.double().numpy() for side in task.as_normalised("standardised", split)] for split in splits}
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
        "text": (held_words, of_text, explained(of_text, held_words)),
        "query": (of_query, held_words, explained(of_query, held_words)),
        "both": (of_query, of_text, min(explained(of_text, held_words), explained(of_query, held_words))),
        "map": (held_queries, mapped, explained(mapped, held_queries)),
    }
    rows = [
        (probe, len(known), task.vocabulary, share, _top_1(task, asking, answering))
        for probe, (asking, answering, share) in compared.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _top_1(task: Retrieval, asking_NW: Array, answering_NW: Array) -> float:
    drawn = task.held_out()
    right = 0
    for start in range(0, task.validation_draws, task.batch_size):
        part = slice(start, start + task.batch_size)
        found = nearest(asking_NW[drawn.queries[part]], answering_NW[drawn.candidates[part]])
        right += int(np.sum(found == drawn.places[part]))
    return right / task.validation_draws
