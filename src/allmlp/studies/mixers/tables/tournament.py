"""Passes of a tournament against the number of texts, beside n log n (001-30)."""

import numpy as np
import pandas as pd

MEASURES = ["tournament_passes"]
PAPER = "Accurate Representation and Retrieval"
CLAIMS = ["001-30"]
TITLE = "Forward passes of a search by tournament"
CAPTION = (
    "Counted passes of the matcher to find one of n texts in groups, passes over n, the limit 1 / (group - 1), and "
    "what n log n passes, as the article says, would be (logarithm to the base of the group). Passes over n fall "
    "towards the limit: the search takes a number of passes that grows as n (E001-13)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per group size and number of texts."""
    rows = tables["tournament_passes"].drop_duplicates(["group", "texts"])
    n_log_n = rows["texts"] * np.log(rows["texts"]) / np.log(rows["group"])
    return rows.assign(n_log_n=n_log_n)[["group", "texts", "passes", "passes_per_text_1", "limit_1", "n_log_n"]]
