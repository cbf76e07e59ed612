"""The names of a certificate's levels in figures and tables, and their order."""

import pandas as pd

NAMES = {
    "truth": "brute force",
    "hidden": "hidden layer exactly, unembedding compressed",
    "structured": "structured hidden layer, Fourier terms",
    "story": "one frequency and the integral (the paper's story)",
}


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a `level` that sorts and groups as NAMES does."""
    return rows.assign(level=pd.Categorical(rows["level"], list(NAMES)))
