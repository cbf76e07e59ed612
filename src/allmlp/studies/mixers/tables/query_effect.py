"""What replacing a query changes in a matcher's scores (001-27)."""

import pandas as pd

from allmlp.studies.mixers.matching import PART

MEASURES = ["query_effect"]
PARTS = [PART]
PAPER = "Accurate Representation and Retrieval, and its public code"
CLAIMS = ["001-27"]
TITLE = "Does a matcher read its query?"
CAPTION = (
    "Largest change of scores (logits) when one query of a batch is replaced, over all runs of a matcher: its own "
    "candidates' scores, and those of its neighbours in the batch. The transformer as published, where it was run, "
    "attends across the batch and not along the candidates; scores that a query does not alter cannot be learnt from "
    "it."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per matcher."""
    groups = tables["query_effect"].groupby("model")
    return groups.agg(
        runs=("run", "nunique"),
        smallest_own_change=("own_change_1", "min"),
        largest_own_change=("own_change_1", "max"),
        largest_change_of_others=("others_change_1", "max"),
    ).reset_index()
