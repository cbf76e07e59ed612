"""Share of the input recovered from the last hidden layer, way by way (001-28, own-9, own-10)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds

MEASURES = ["recovery"]
PAPER = "Language Mixer Basics"
CLAIMS = ["001-28", "001-own-9", "001-own-10"]
TITLE = "Input recovered from the last hidden layer"
CAPTION = (
    "Share of tokens right, mean over seeds with its 95 % t interval: by descent from the whole layer (self), from "
    "later positions only (non-self), at the paper's rate and at the best of a few for the model on other texts; and "
    "by a search over tokens. Read off by the pseudo-inverse of the embeddings, as the paper does, and beside it by "
    "the nearest embedding. The ceiling is what the pseudo-inverse reads off the true embeddings. Texts are the "
    "beginnings of validation documents, as many tokens of each as the last column says."
)

BY = ["variant", "d_model", "n_blocks", "step", "way", "rates"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model, size, training step, way and choice of rates."""
    rows = tables["recovery"]
    shares = over_seeds(rows, BY, "recovered_1").rename(columns={"mean": "recovered", "n": "seeds"})
    beside = rows.groupby(BY, as_index=False).agg(
        nearest=("nearest_1", "mean"),
        ceiling=("ceiling_1", "mean"),
        first_rate=("rate_1", "median"),
        tokens=("tokens", "max"),
    )
    return shares.merge(beside, on=BY).round(4)
