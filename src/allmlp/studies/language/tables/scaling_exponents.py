"""Exponents of the best size and the best data in compute, by what is counted as size (000-2, 000-own-2)."""

import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.language.isoflop import BUDGET, SIZE, bootstrap, exponents, minima

MEASURES = ["scaling"]
PARTS = ["scaling"]
PAPER = "Figure 1, centre and right"
CLAIMS = ["000-2", "000-own-2"]
TITLE = "Exponents of compute"
CAPTION = (
    "Exponents a of the best size and b of the best number of supervised targets in compute, by parabolas over each "
    "budget of which only minima inside the sizes tried are used: mean over seeds with 95 % t interval, and beside "
    "it the percentile interval of a bootstrap over runs, drawn anew within each budget and size, with the share of "
    "draws in which an exponent could be fitted (that interval is too narrow at a few seeds, and decides nothing). "
    "Three ways to count: all weights and C = 6 N D, as the paper; weights without embeddings, same C; all weights, "
    "and in place of C the operations counted for the best run. Empty where fewer than two budgets of a seed are "
    "left. With all weights and C = 6 N D, a + b is 1 by construction."
)


def _kinds(rows: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, str]]:
    """What is counted -> the rows with budgets counted so, and the column of size."""
    best = minima(rows)
    spent = best.groupby(["model", BUDGET])["best_counted_flops"].mean()
    where = pd.MultiIndex.from_frame(rows[["model", BUDGET]])
    counted = rows.assign(**{BUDGET: spent.loc[where].to_numpy()})
    return {
        "all weights, 6 N D": (rows, SIZE),
        "without embeddings, 6 N D": (rows, "non_embedding_parameters"),
        "all weights, counted operations": (counted, SIZE),
    }


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per way to count and model."""
    found = []
    for kind, (rows, size) in _kinds(tables["scaling"]).items():
        laws, draws = exponents(minima(rows, size)), bootstrap(rows, size)
        for model, of_model in laws.groupby("model"):
            drawn = draws[draws["model"] == model].iloc[0]
            row: dict[str, object] = {"counted": kind, "model": model, "seeds": len(of_model)}
            row["fewest_budgets"] = int(of_model["budgets"].min())
            for name, letter in (("size", "a"), ("data", "b")):
                interval = t_interval(of_model[f"{name}_1"].to_numpy())
                row |= {letter: interval.mean, f"{letter}_low": interval.low, f"{letter}_high": interval.high}
                row |= {f"{letter}_{end}_bootstrap": drawn[f"{name}_{end}"] for end in ("low", "high")}
            found.append({**row, "draws_1": drawn["share_1"]})
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))
