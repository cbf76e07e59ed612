"""Forward passes of a tournament to find one of n texts, counted one by one (001-30)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.studies.mixers.tournament import passes, search

RECIPE = 1
GROUPS = (8, 32, 128)  # the article's are 32 and 128
TEXTS = (10**3, 10**4, 10**5, 10**6)

COLUMNS = {
    "group": exact("texts that one pass compares"),
    "texts": exact("texts among which one is sought"),
    "passes": exact("forward passes, counted as they are made"),
    "passes_per_text_1": numeric("passes over texts", rtol=1e-12),
    "limit_1": numeric("1 / (group - 1), which passes over texts come near to", rtol=1e-12),
}


def measure() -> pd.DataFrame:
    """One row per size of groups and number of texts, without training."""
    rows = []
    for group in GROUPS:
        for n in TEXTS:
            _, made = search(np.arange(n), group, lambda meetings: np.zeros(len(meetings), np.int64))
            if made != passes(n, group):
                raise ValueError(f"{n} texts in groups of {group}: {made} passes made, {passes(n, group)} expected")
            rows.append((group, n, made, made / n, 1 / (group - 1)))
    return pd.DataFrame(rows, columns=list(COLUMNS))
