"""Tables of the retrieval: matchers, and other readers of the same embeddings."""

import pandas as pd

from allmlp.report.exhibits import table
from allmlp.studies.mixers.matching import PART, readings
from allmlp.studies.seeds import over_seeds, summary


@table(
    "Matchers on embeddings",
    where="Accurate Representation and Retrieval, losses given in the text",
    claims=["001-22", "001-23", "001-24", "001-25", "001-26", "001-27", "001-own-5", "001-own-6", "001-own-8"],
    parts=[PART],
)
def retrieval(retrieval: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Lowest loss on held-out pairs over training, with its 95 % t interval over seeds, the loss at the end, and the
    share of held-out queries with their own text first at the end. Chance is the logarithm of the number of candidates.
    Learning rate and normalisation are those of each setting's search, if the scale searches. Shared words: share of a
    query's content words that are in its text, counted on the tokens that the embedder reads. Truncated: share of texts
    and of queries longer than the embedder's context; only their last tokens are read.
    """
    by = ["model", "embedder", "width", "padding", "position", "pairs", "training_queries", "candidates"]
    table = summary(
        retrieval.merge(cost[["run", "parameters", "steps_done"]], on="run"),
        by,
        seeds=("run", "nunique"),
        steps=("steps_done", "max"),
        chance_nats=("chance_nats", "first"),
        lowest_nats="lowest_nats",
        last_nats=("last_nats", "mean"),
        train_nats=("train_nats", "mean"),
        top_1="top_1",
        learning_rate=("learning_rate", "first"),
        normalisation=("normalisation", "first"),
        shared_words_1=("shared_words_1", "first"),
        truncated_1=("truncated_1", "first"),
        truncated_queries_1=("truncated_queries_1", "first"),
        matcher_weights=("parameters", "first"),
    )
    table = table.rename(columns={"lowest_nats_low": "low", "lowest_nats_high": "high"})
    return table.sort_values(["model", "pairs", "candidates", "lowest_nats"])


@table(
    "What reads the embeddings how well",
    where="Accurate Representation and Retrieval, of which it gives no accuracy",
    claims=["001-21", "001-own-5", "001-own-6", "001-own-7"],
    parts=[PART],
)
def retrieval_probes(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> pd.DataFrame:
    """Share of held-out queries with their own text first, all on the same draws: mean over seeds and 95 % t interval.
    Probes are closed-form ridge regressions: `text` and `query` predict the words of the query from one side's
    embedding and get those of the other side, `both` gets none, `map` is a linear map from text to query embeddings.
    Distances are between raw embeddings. Chance is one over the number of candidates.
    """
    by = ["words", "embedder", "padding", "position", "candidates", "reader"]
    table = over_seeds(readings(retrieval, distances, embedding_probes), by, "top_1")
    return table.rename(columns={"mean": "top_1", "n": "seeds"})


@table(
    "Does a matcher read its query?",
    where="Accurate Representation and Retrieval, and its public code",
    claims=["001-27"],
    parts=[PART],
)
def query_effect(query_effect: pd.DataFrame) -> pd.DataFrame:
    """Largest change of scores (logits) when one query of a batch is replaced, over all runs of a matcher: its own
    candidates' scores, and those of its neighbours in the batch. The transformer as published, if it was run, attends
    across the batch and not along the candidates; scores that do not depend on a query cannot be learnt from it.
    """
    return summary(
        query_effect,
        ["model"],
        runs=("run", "nunique"),
        smallest_own_change=("own_change_1", "min"),
        largest_own_change=("own_change_1", "max"),
        largest_change_of_others=("others_change_1", "max"),
    )
