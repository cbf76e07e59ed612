"""Rules on the errors of the sums, the paper's bound on them and the moment bound (003-5, 003-6, 003-own-1)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.verdicts.common import (
    as_paper,
    by_seed,
    heavy,
    in_every_seed,
    mean_of_paper,
    on_alike,
    times,
)
from allmlp.studies.rules import below


@on_alike("error_table")
def error_table(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-5: errors and bound like those of the paper's frequencies, the bound below the naive one."""
    margin, paper = evidence.margin, evidence.paper
    keys = heavy(rows, margin)
    largest = by_seed(rows, keys.groupby("seed")["total_bound_1"].max())
    naive = float(rows["naive_bound_1"].mean())
    columns = {
        "(a) absolute part's error": "abs_error_1",
        "(b) identity part's error": "identity_error_1",
        "(c) bound": "total_bound_1",
    }
    parts = {
        name: as_paper(by_seed(rows, keys.groupby("seed")[column].mean()), mean_of_paper(paper, column), margin)
        for name, column in columns.items()
    }
    smaller = below(largest, naive)
    size = f"the integral's size is {naive:.3g} by its definition, the paper prints {paper['naive_bound_1']:g} (E003-7)"
    return {**parts, "(d) bound below the integral's size": replace(smaller, text=f"{smaller.text}; {size}")}


@on_alike("error_table")
def angle_and_quadrature_terms(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-6: the two terms of the bound at each seed's key frequency with the largest bound."""
    margin, paper = evidence.margin, evidence.paper
    keys = heavy(rows, margin)
    worst = keys.loc[keys.groupby("seed")["total_bound_1"].idxmax()].set_index("seed")
    terms = {
        "(a) phases": (worst["angle_bound_1"], paper["angle_bound_1"]),
        "(b) quadrature": (worst["total_bound_1"] - worst["angle_bound_1"], paper["quadrature_bound_1"]),
    }
    return {name: as_paper(by_seed(rows, values), printed, margin) for name, (values, printed) in terms.items()}


def moment_bound(evidence: Evidence) -> Finding:
    """003-own-1: never below the error, and at most half the paper's bound."""
    rows, margin = evidence.table("error_table"), evidence.margin
    keys = heavy(rows, margin)
    keys = keys.assign(
        excess=keys["abs_error_1"] - keys["moment_bound_1"],
        ratio=np.log(keys["total_bound_1"] / keys["moment_bound_1"]),
    )
    excess = by_seed(rows, keys.groupby("seed")["excess"].max())
    ratio = by_seed(rows, keys.groupby("seed")["ratio"].mean())
    parts = {
        "(a) never below the error": in_every_seed(excess, 0.0, "largest error minus bound"),
        "(b) at most half the paper's bound": times(ratio, margin["ratio_1"]),
    }
    return whole(parts)
