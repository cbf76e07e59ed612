"""Rules on the integrals, the errors of the sums that stand for them, and their bound (003-3, 003-5, 003-6)."""

from dataclasses import replace

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.integrals import APPENDIX, MAIN
from allmlp.studies.quadrature.verdicts.alike import on_alike
from allmlp.studies.quadrature.verdicts.common import as_paper, by_seed, exact, heavy, mean_over_keys
from allmlp.studies.rules import below


def closed_forms(evidence: Evidence) -> Finding:
    """003-3: the printed integrals against numerical ones; exact, so true or false without a test."""
    rows, limit = evidence.table("closed_forms"), evidence.margin["difference_1"]
    return whole(
        {
            "(a) the integrals of ReLU": _as_printed(rows[rows["where"] == MAIN], limit),
            "(b) its identity and absolute parts": _as_printed(rows[rows["where"] == APPENDIX], limit),
        }
    )


def error_table(evidence: Evidence) -> Finding:
    """003-5: errors and bound like those of the paper's frequencies, the bound below the naive one."""
    return on_alike(evidence, evidence.table("error_table"), lambda rows: _errors(rows, evidence))


def _errors(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    margin, paper = evidence.margin, evidence.paper
    keys = heavy(rows, margin)
    largest = by_seed(rows, keys.groupby("seed")["total_bound_1"].max())
    naive = float(rows["naive_bound_1"].mean())
    parts = {
        name: as_paper(by_seed(rows, keys.groupby("seed")[column].mean()), mean_over_keys(paper, column), margin)
        for name, column in (
            ("(a) absolute part's error", "abs_error_1"),
            ("(b) identity part's error", "identity_error_1"),
            ("(c) bound", "total_bound_1"),
        )
    }
    smaller = below(largest, naive)
    size = f"the integral's size is {naive:.3g} by its definition, the paper prints {paper['naive_bound_1']:g} (E003-7)"
    return {**parts, "(d) bound below the integral's size": replace(smaller, text=f"{smaller.text}; {size}")}


def angle_and_quadrature_terms(evidence: Evidence) -> Finding:
    """003-6: the two terms of the bound at each seed's key frequency with the largest bound."""
    return on_alike(evidence, evidence.table("error_table"), lambda rows: _terms(rows, evidence))


def _terms(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    margin, paper = evidence.margin, evidence.paper
    keys = heavy(rows, margin)
    worst = keys.loc[keys.groupby("seed")["total_bound_1"].idxmax()].set_index("seed")
    terms = {
        "(a) phases": (worst["angle_bound_1"], paper["angle_bound_1"]),
        "(b) quadrature": (worst["total_bound_1"] - worst["angle_bound_1"], paper["quadrature_bound_1"]),
    }
    return {name: as_paper(by_seed(rows, values), printed, margin) for name, (values, printed) in terms.items()}


def _as_printed(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the paper's value right in every row?"""
    missed = (rows["value_1"] - rows["paper_1"]).abs()
    worst = float(missed.max(skipna=False))
    wrong = sorted(rows.loc[missed > limit, "integral"].unique())
    text = f"largest difference {worst:.3g}, allowed {limit:g}"
    text += f"; not as printed: {', '.join(wrong)}" if wrong else ""
    return exact(rows, worst <= limit, worst, text)
