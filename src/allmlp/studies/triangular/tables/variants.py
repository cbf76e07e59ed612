"""Losses, learning rates and time of every variant and part (004-2 to -5, -7)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds
from allmlp.studies.triangular.parts import COMPARISON, RATES_OF_VARIANTS

MEASURES = ["learning"]
PARTS = [COMPARISON]
PAPER = "Sections 2 and 3, which print no loss"
CLAIMS = ["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"]
TITLE = "Variants of the model in numbers"
CAPTION = (
    "Mean over seeds with 95 % t intervals (empty for one seed): held-out loss in nats per token early (over the "
    "tested steps of the first quarter) and at the end; the learning rate; seconds per step on the machine that "
    f"trained it; runs that diverged. {RATES_OF_VARIANTS}"
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per variant."""
    rows = tables["learning"]
    table = rows.groupby("variant", as_index=False).agg(
        corpus=("corpus", "first"),
        seeds=("run", "nunique"),
        learning_rate=("learning_rate", "median"),
        diverged=("diverged", "sum"),
        step_seconds=("step_seconds", "median"),
    )
    for column in ("early_nats", "end_nats"):
        means = over_seeds(rows, ["variant"], column).drop(columns="n")
        table = table.merge(means.rename(columns={"mean": column, "low": f"{column}_low", "high": f"{column}_high"}))
    return table
