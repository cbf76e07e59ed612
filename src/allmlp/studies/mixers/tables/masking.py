"""The worked example and the triangle's properties, in every form of mixing (001-1)."""

import pandas as pd

MEASURES = ["masking"]
PAPER = "Language Mixer Basics, worked example"
CLAIMS = ["001-1"]
TITLE = "What the mask keeps out"
CAPTION = (
    "In float64: the difference from the paper's printed matrices; the largest change of outputs up to a position "
    "when all later tokens change, over all positions; the largest gradient of a weight above the diagonal. Each is 0"
    " where the property holds."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per form of mixing, one column per property."""
    rows = tables["masking"].drop_duplicates(["form", "property"])
    wide = rows.pivot(index="form", columns="property", values="difference_1")
    return wide.reindex(list(dict.fromkeys(rows["form"]))).reset_index()
