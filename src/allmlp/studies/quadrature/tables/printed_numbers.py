"""What is printed and what comes out when it is worked out again, for claim 003-13 and the errata."""

import math

import pandas as pd

MEASURES = ["printed_numbers"]
PAPER = "throughout"
CLAIMS = ["003-7", "003-9", "003-10", "003-13"]
TITLE = "Printed numbers and formulas, worked out again"
CAPTION = (
    "No training takes part. printed: what the paper prints, or what its text implies, as the 0 by which an equation "
    "says that its two sides differ; empty where it gives neither. Ours beside it. Errata that are settled on trained "
    "networks, or by reading alone, are not here."
)

ZERO = 1e-12


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns item, quantity, printed, value, how; text."""
    rows = tables["printed_numbers"]
    rows = rows[rows["run"] == rows["run"].iloc[0]]  # every run that takes this measure has the same numbers
    shown = rows.assign(printed=rows["printed_1"].map(_shown), value=rows["value_1"].map(_shown))
    return shown[["item", "quantity", "printed", "value", "how"]].reset_index(drop=True)


def _shown(value: float) -> str:
    """Four digits; empty for NaN, and 0 for what only rounding in float64 keeps from it."""
    if math.isnan(value):
        return ""
    return "0" if abs(value) < ZERO else f"{value:.4g}"
