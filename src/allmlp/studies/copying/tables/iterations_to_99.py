"""Iterations to 99 % accuracy and the largest fall of the loss, by model and length (002-5, 002-2)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds

MEASURES = ["iterations_to_99"]
PARTS, ALSO = ["comparison"], ["long"]
PAPER = "Figure 4"
CLAIMS = ["002-5"]
TITLE = "Iterations to 99 % accuracy"
CAPTION = (
    "First iteration with 99 % of the tokens of a batch right: mean over seeds and 95 % t interval. A run "
    "that did not arrive enters with its budget, so that the mean is a lower bound wherever fewer than all "
    "seeds arrived. Beside it the largest fall of the loss within 25 iterations, a sudden one being near the "
    "plateau's height of about 3 nats."
)

BY = ["string_length", "model"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per string length and model; interval ends are empty for a single seed."""
    rows = tables["iterations_to_99"]
    iterations = over_seeds(rows, BY, "iterations").rename(
        columns={"mean": "iterations", "low": "iterations_low", "high": "iterations_high", "n": "seeds"}
    )
    falls = over_seeds(rows, BY, "fall_nats").rename(
        columns={"mean": "fall_nats", "low": "fall_low_nats", "high": "fall_high_nats"}
    )
    counts = rows.groupby(BY, as_index=False).agg(reached=("reached", "sum"), budget=("budget", "max"))
    table = iterations.merge(counts, on=BY).merge(falls.drop(columns="n"), on=BY)
    columns = ["seeds", "reached", "budget", "iterations", "iterations_low", "iterations_high"]
    return table[[*BY, *columns, "fall_nats", "fall_low_nats", "fall_high_nats"]]
