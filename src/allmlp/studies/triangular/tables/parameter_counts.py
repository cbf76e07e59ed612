"""Weights at the printed sizes (004-1)."""

import pandas as pd

MEASURES = ["parameter_counts"]
PAPER = "Methods and Materials"
CLAIMS = ["004-1"]
TITLE = "Which model has the printed number of weights"
CAPTION = (
    "Weights of three readings of the text at its printed sizes, and those among them that stand above diagonals of "
    "triangles and take no part; beside them the paper's number (millions). The abstract speaks of one triangle."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per reading."""
    rows, paper = tables["parameter_counts"], tables["paper"]
    printed = paper[(paper["claim"] == "004-1") & (paper["key"] == "parameters_millions")]["value"].iloc[0]
    return rows[["reading", "parameters", "masked"]].assign(paper_millions=printed)
