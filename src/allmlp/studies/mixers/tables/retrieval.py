"""What every matcher reaches, by embedder, context, pairs, position and padding side (001-22 to 001-27)."""

import pandas as pd

from allmlp.studies.mixers.matching import PART
from allmlp.studies.seeds import over_seeds

MEASURES = ["retrieval", "cost"]
PARTS = [PART]
PAPER = "Accurate Representation and Retrieval, losses given in the text"
CLAIMS = ["001-22", "001-23", "001-24", "001-25", "001-26", "001-27", "001-own-5", "001-own-6", "001-own-8"]
TITLE = "Matchers on embeddings"
CAPTION = (
    "Lowest loss on held-out pairs over training, with its 95 % t interval over seeds, the loss at the end, and the "
    "share of held-out queries whose own text comes first at the end. Chance is the logarithm of the number of "
    "candidates. Learning rate and normalisation are those that each setting's search chose, where the scale searches. "
    "Shared words: share of a query's content words that are in its text, as far as the embedder reads both. "
    "Truncated: texts, and queries, longer than the embedder's context, of which only the last tokens are read."
)
BY = ["model", "embedder", "width", "padding", "position", "pairs", "training_queries", "candidates"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per setting; interval ends are empty for a single seed."""
    rows = tables["retrieval"].merge(tables["cost"][["run", "parameters", "steps_done"]], on="run")
    lowest = over_seeds(rows, BY, "lowest_nats").rename(columns={"mean": "lowest_nats", "n": "seeds"})
    top_1 = over_seeds(rows, BY, "top_1").rename(columns={"mean": "top_1", "low": "top_1_low", "high": "top_1_high"})
    same = rows.groupby(BY, as_index=False).agg(
        last_nats=("last_nats", "mean"),
        train_nats=("train_nats", "mean"),
        chance_nats=("chance_nats", "first"),
        learning_rate=("learning_rate", "first"),
        normalisation=("normalisation", "first"),
        shared_words_1=("shared_words_1", "first"),
        truncated_1=("truncated_1", "first"),
        truncated_queries_1=("truncated_queries_1", "first"),
        matcher_weights=("parameters", "first"),
        steps=("steps_done", "max"),
    )
    table = lowest.merge(same, on=BY).merge(top_1.drop(columns="n"), on=BY)
    shown = ["seeds", "steps", "chance_nats", "lowest_nats", "low", "high", "last_nats", "train_nats"]
    accuracy = ["top_1", "top_1_low", "top_1_high"]
    about = ["learning_rate", "normalisation", "shared_words_1", "truncated_1", "truncated_queries_1"]
    columns = [*BY, *shown, *accuracy, *about, "matcher_weights"]
    return table[columns].sort_values(["model", "pairs", "candidates", "lowest_nats"])
