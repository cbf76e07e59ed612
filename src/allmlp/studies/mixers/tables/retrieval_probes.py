"""Top-1 accuracy by everything that reads the same embeddings: matcher, linear probes, distances (001-21, own-7)."""

import pandas as pd

from allmlp.studies.mixers.matching import PART, SMALL, usual
from allmlp.studies.seeds import over_seeds

MEASURES = ["retrieval", "distances", "embedding_probes"]
PARTS = [PART]
PAPER = "Accurate Representation and Retrieval, of which it gives no accuracy"
CLAIMS = ["001-21", "001-own-5", "001-own-6", "001-own-7"]
TITLE = "What reads the embeddings how well"
CAPTION = (
    "Share of held-out queries whose own text comes first, all on the same draws: mean over seeds and 95 % t "
    "interval. Probes are ridge regressions in closed form: `text` and `query` read the words of the query in one "
    "side's embedding and are told those of the other, `both` is told nothing, `map` is a linear map from text to "
    "query embeddings. Distances are of embeddings as they are. Chance is one over the number of "
    "candidates."
)
READERS = {  # in the order of a figure
    "matcher": ("matcher", ""),
    "probe: text": ("text", ""),
    "probe: query": ("query", ""),
    "probe: both": ("both", ""),
    "probe: map": ("map", ""),
    "cosine": ("cosine", "none"),
    "L1": ("l1", "none"),
    "L2": ("l2", "none"),
}
BY = ["words", "embedder", "padding", "position", "candidates", "reader"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per kind of pairs, embedder, padding side and reader; interval ends are empty for a single seed."""
    rows = readings(tables)
    return over_seeds(rows, BY, "top_1").rename(columns={"mean": "top_1", "n": "seeds"})


def readings(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """run, seed, labels, candidates, reader, top_1: one row per run and reader, of the largest context up to SMALL."""
    matched = tables["retrieval"].assign(what="matcher", normalisation="")
    probed = tables["embedding_probes"].assign(normalisation="").rename(columns={"probe": "what"})
    near = tables["distances"].rename(columns={"metric": "what"})
    matched = matched[matched["run"].isin(near["run"])]
    rows = pd.concat([matched, probed, near], ignore_index=True)
    rows = usual(rows)
    rows = rows[rows["context"].eq(rows.loc[rows["context"].le(SMALL), "context"].max())]
    reader = {value: name for name, value in READERS.items()}
    named = [reader.get(key, "") for key in zip(rows["what"], rows["normalisation"], strict=True)]
    return rows.assign(reader=named).query("reader != ''")
