"""R2 of every part of the network on every law, beside the paper's four numbers (003-9)."""

import math

import pandas as pd

from allmlp.report.statistics import prediction_interval
from allmlp.studies.quadrature.verdicts.logits import OF_PAPER, r2_by_seed

MEASURES = ["regressions"]
PAPER = "Appendix B"
CLAIMS = ["003-9"]
TITLE = "R2 of the logits on the laws of Appendix B"
CAPTION = (
    "Least squares of all p³ logits on the regressors of each key frequency and an intercept; mean over seeds, with "
    "the 95 % prediction interval for one further seed, and the smallest and largest seed. The first two laws are the "
    "paper's. The last is the expression that Appendix B ends with: how much of the logits it leaves out is what "
    "the printed coefficients cannot explain (E003-8)."
)

PARTS = {"logits": "whole", "mlp": "MLP alone", "abs": "absolute part", "identity": "identity part"}
LAWS = {
    "abs": "|cos k(x-y)/2| cos k(x+y-z)",
    "cosine": "cos k(x+y-z)",
    "double": "cos k(x-y) cos k(x+y-z)",
    "both": "first and third",
}
COLUMNS = ["part", "law", "paper_r2_1", "r2_1", "prediction_interval", "range"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS as text, one row per part and law; empty where the paper gives no number or there is no interval."""
    rows, paper = tables["regressions"], tables["paper"]
    stated = paper[paper["claim"] == "003-9"].set_index("key")["value"].astype(float)
    printed = {of: f"{stated[key]:.2f}" for key, of in OF_PAPER.items() if key in stated}
    table = []
    for part, part_name in PARTS.items():
        for law, law_name in LAWS.items():
            values = r2_by_seed(rows, part, law)
            interval = prediction_interval(values)
            bounds = f"{interval.low:.3f} to {interval.high:.3f}" if math.isfinite(interval.low) else ""
            seen = f"{values.min():.3f} to {values.max():.3f}"
            table.append((part_name, law_name, printed.get((part, law), ""), f"{interval.mean:.3f}", bounds, seen))
    return pd.DataFrame(table, columns=COLUMNS)
