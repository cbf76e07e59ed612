"""Tables of study 001: matchers on embeddings."""

import numpy as np
import pandas as pd

from allmlp.report.seeds import aggregate_seeds, summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import table
from allmlp.studies.mixers.matcher_settings import MATCHER_SEARCH, PART
from allmlp.studies.mixers.matching import readings
from allmlp.studies.shared.searched import searched_row


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


@table("Learning rates of matchers: what the search of every setting found", parts=[MATCHER_SEARCH])
def matcher_learning_rates(cost: pd.DataFrame) -> Rows:
    """Held-out loss (nats) at the end of the search's runs, mean over seeds that are used for nothing else. edge: the
    chosen or the best rate is the smallest or largest tried, so a better one may lie beyond. Of rates that tie within a
    standard error the middle one is chosen.
    """
    setting = ["model", "embedder", "width", "padding", "position", "pairs"]
    for names, rows in cost.groupby(setting, sort=False):
        yield {**dict(zip(setting, names, strict=True)), **searched_row(rows)}


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
    table = aggregate_seeds(readings(retrieval, distances, embedding_probes), by, "top_1")
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


@table("Forward passes of a search by tournament", where="Accurate Representation and Retrieval", claims=["001-30"])
def tournament(tournament_passes: pd.DataFrame) -> pd.DataFrame:
    """Counted passes of the matcher to find one of n texts in groups, passes over n, the limit 1 / (group - 1), and the
    n log n passes of the article (logarithm to the base of the group). Passes over n fall towards the limit: the number
    of passes grows as n (E001-13).
    """
    rows = tournament_passes.drop_duplicates(["group", "texts"])
    n_log_n = rows["texts"] * np.log(rows["texts"]) / np.log(rows["group"])
    return rows.assign(n_log_n=n_log_n)[["group", "texts", "passes", "passes_per_text_1", "limit_1", "n_log_n"]]
