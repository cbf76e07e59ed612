"""Lower bounds on the margins of a whole trained network, proved in outward-rounded arithmetic."""

import pandas as pd

NAMES = {
    "truth": "brute force",
    "hidden": "hidden layer exactly, unembedding compressed",
    "structured": "structured hidden layer, Fourier terms",
    "story": "one frequency and the integral (the paper's story)",
}


def order_levels(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a `level` that sorts and groups as NAMES does."""
    return rows.assign(level=pd.Categorical(rows["level"], list(NAMES)))
