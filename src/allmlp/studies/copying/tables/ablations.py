"""How fast and how suddenly each variant of CausalRN learns to copy (002-1, -2, -3)."""

import pandas as pd

from allmlp.studies.copying.parts import sharpness, variants
from allmlp.studies.seeds import over_seeds

MEASURES = ["falls", "iterations_to_99"]
PARTS = ["comparison", "ablation"]
PAPER = "Figure 2"
CLAIMS = ["002-1", "002-2", "002-3"]
TITLE = "What each part of CausalRN is for"
CAPTION = (
    "CausalRN as published and with one part changed: mean over seeds of the first step below half the "
    "plateau, of the steps from nine tenths of it to one over the steps before (below 1: a sudden fall), "
    "of the largest fall of the loss within 25 iterations, and of the step where it begins, with 95 % t "
    "intervals. What did not happen within the budget enters with the budget."
)

COLUMNS = {
    "to_half_steps": "steps_to_half",
    "sharpness_1": "fall_over_plateau",
    "fall_nats": "largest_fall_nats",
    "fall_step": "at_step",
}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per variant; interval ends are empty for a single seed."""
    falls = variants(tables["falls"])
    rows = falls.assign(sharpness_1=sharpness(falls))
    largest = variants(tables["iterations_to_99"])[["run", "fall_nats", "fall_step"]]
    rows = rows.merge(largest, on="run")
    table = rows.groupby("variant", as_index=False).agg(
        seeds=("run", "nunique"), reached_99=("reached", "sum"), budget=("budget", "max")
    )
    for column, name in COLUMNS.items():
        means = over_seeds(rows, ["variant"], column).drop(columns="n")
        table = table.merge(means.rename(columns={"mean": name, "low": f"{name}_low", "high": f"{name}_high"}))
    return table
