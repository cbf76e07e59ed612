"""Everything that reads the same embeddings: the matcher, linear probes, distances (001-21, own-5 to own-7)."""

import pandas as pd

from allmlp.studies.mixers.matching import SMALL, usual

READERS = {  # name, in the order of a figure -> what, and the normalisation of a distance
    "matcher": ("matcher", ""),
    "probe: text": ("text", ""),
    "probe: query": ("query", ""),
    "probe: both": ("both", ""),
    "probe: map": ("map", ""),
    "cosine": ("cosine", "none"),
    "L1": ("l1", "none"),
    "L2": ("l2", "none"),
}


def readings(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> pd.DataFrame:
    """run, seed, labels, candidates, reader, top_1: one row per run and reader, of the largest context up to SMALL."""
    matched = retrieval[retrieval["run"].isin(distances["run"])].assign(what="matcher", normalisation="")
    probed = embedding_probes.assign(normalisation="").rename(columns={"probe": "what"})
    near = distances.rename(columns={"metric": "what"})
    rows = usual(pd.concat([matched, probed, near], ignore_index=True))
    rows = rows[rows["context"].eq(rows.loc[rows["context"].le(SMALL), "context"].max())]
    reader = {value: name for name, value in READERS.items()}
    named = [reader.get(key, "") for key in zip(rows["what"], rows["normalisation"], strict=True)]
    return rows.assign(reader=named).query("reader != ''")
