"""The rules of claims.yaml as tests: measurements of study 003 -> findings. The unit is the seed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better, within_prediction
from allmlp.studies.quadrature.integrals import APPENDIX, MAIN
from allmlp.studies.rules import below

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence


def single_frequency(evidence: "Evidence") -> Finding:
    """003-1: neurons of key frequencies have one frequency in, one out, and it is the same."""
    rows, margin = evidence.table("neurons"), evidence.margin
    clean = {
        "(a) one frequency in": rows["share_in_1"] >= margin["variance_share_1"],
        "(b) one frequency out": rows["share_out_1"] >= margin["variance_share_1"],
        "(c) the same in and out": rows["frequency"] == rows["frequency_out"],
    }
    return whole(
        {
            name: better(_of_key_neurons(rows, holds), margin["neuron_share_1"], unit="of neurons")
            for name, holds in clean.items()
        }
    )


def phase_relation(evidence: "Evidence") -> Finding:
    """003-2: psi is twice phi, and with which sign (E003-2)."""
    rows, limit = evidence.table("neurons"), evidence.margin["angle_rad"]
    plus, minus = (rows[f"angle_error_{sign}_rad"].abs() for sign in ("plus", "minus"))
    return whole(
        {
            "(a) psi = +2 phi, as the definitions need": below(_of_key_neurons(rows, plus), limit, "rad"),
            "(b) psi = -2 phi, as printed": below(_of_key_neurons(rows, minus), limit, "rad"),
        }
    )


def closed_forms(evidence: "Evidence") -> Finding:
    """003-3: the printed integrals against numerical ones; exact, so true or false without a test."""
    rows, limit = evidence.table("closed_forms"), evidence.margin["difference_1"]
    return whole(
        {
            "(a) the integrals of ReLU": _as_printed(rows[rows["where"] == MAIN], limit),
            "(b) its identity and absolute parts": _as_printed(rows[rows["where"] == APPENDIX], limit),
        }
    )


def error_table(evidence: "Evidence") -> Finding:
    """003-5: errors and bound like those of the paper's frequencies, the bound below the naive one."""
    rows, margin, paper = evidence.table("error_table"), evidence.margin, evidence.paper
    keys = _heavy(rows, margin)
    largest = _by_seed(rows, keys.groupby("seed")["total_bound_1"].max())
    naive = float(rows["naive_bound_1"].mean())
    parts = {
        name: _as_paper(_by_seed(rows, keys.groupby("seed")[column].mean()), _mean_over_keys(paper, column), margin)
        for name, column in (
            ("(a) absolute part's error", "abs_error_1"),
            ("(b) identity part's error", "identity_error_1"),
            ("(c) bound", "total_bound_1"),
        )
    }
    return whole(
        {
            **parts,
            "(d) bound below the integral's size": below(largest, naive),
            "(e) size of the integral": _exactly(rows, naive, paper["naive_bound_1"], margin["rounding_1"]),
        }
    )


def angle_and_quadrature_terms(evidence: "Evidence") -> Finding:
    """003-6: the two terms of the bound at each seed's key frequency with the largest bound."""
    rows, margin, paper = evidence.table("error_table"), evidence.margin, evidence.paper
    keys = _heavy(rows, margin)
    worst = keys.loc[keys.groupby("seed")["total_bound_1"].idxmax()].set_index("seed")
    terms = {
        "(a) phases": (worst["angle_bound_1"], paper["angle_bound_1"]),
        "(b) quadrature": (worst["total_bound_1"] - worst["angle_bound_1"], paper["quadrature_bound_1"]),
    }
    return whole(
        {name: _as_paper(_by_seed(rows, values), printed, margin) for name, (values, printed) in terms.items()}
    )


def _of_key_neurons(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Mean of a per-neuron value over the neurons of key frequencies, one per seed."""
    keys = rows["is_key"].astype(bool)
    return _by_seed(rows, values[keys].astype(float).groupby(rows.loc[keys, "seed"]).mean())


def _by_seed(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """One value per seed of `rows`; NaN for a seed without any, so that it counts."""
    return values.reindex(sorted(rows["seed"].unique())).to_numpy(dtype=float)


def _heavy(rows: pd.DataFrame, margin: Mapping[str, float]) -> pd.DataFrame:
    """Without the frequencies that are fading out."""
    return rows[rows["weight_share_1"] >= margin["weight_share_1"]]


def _mean_over_keys(paper: Mapping[str, float], column: str) -> float:
    """The paper's mean over its frequencies: 'abs_error_1' -> mean of 'abs_error_k12_1', ..."""
    stem = column.removesuffix("_1")
    return float(np.mean([value for key, value in paper.items() if key.startswith(f"{stem}_k")]))


def _as_paper(values: np.ndarray, printed: float, margin: Mapping[str, float]) -> Finding:
    """Could the paper's number be one more seed's? By a prediction interval of logarithms.

    Of all numbers that round to `printed`, the nearest to our mean is asked for. An interval whose ends are a
    factor of interval_factor_1 or more apart decides nothing in the paper's favour.
    """
    logarithms = np.log(values)
    middle = float(np.exp(logarithms.mean()))
    rounding = margin["rounding_1"]
    nearest = printed if math.isnan(middle) else min(max(middle, printed - rounding), printed + rounding)
    found = within_prediction(logarithms, math.log(nearest), max_half_width=math.log(margin["interval_factor_1"]) / 2)
    low, high = math.exp(found.low), math.exp(found.high)
    text = (
        f"geometric mean {middle:.3g}, 95 % prediction interval {low:.3g} to {high:.3g}, n = {found.n}; "
        f"the paper says {printed:.3g}"
    )
    if found.low > -math.inf and high >= margin["interval_factor_1"] * low:
        text += f" (ends a factor of {high / low:.3g} apart: too wide to tell)"
    return replace(found, value=middle, low=low, high=high, text=text)


def _as_printed(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the paper's value right in every row?"""
    missed = (rows["value_1"] - rows["paper_1"]).abs()
    worst = float(missed.max())
    wrong = sorted(rows.loc[missed > limit, "integral"].unique())
    text = f"largest difference {worst:.3g}, allowed {limit:g}"
    text += f"; not as printed: {', '.join(wrong)}" if wrong else ""
    return _exact(rows, worst <= limit, worst, text)


def _exactly(rows: pd.DataFrame, value: float, printed: float, rounding: float) -> Finding:
    """Does a number that no training alters round to the printed one?"""
    text = f"{value:.3g} by its definition; the paper says {printed:g}"
    return _exact(rows, abs(value - printed) <= rounding, value, text)


def _exact(rows: pd.DataFrame, holds: bool, value: float, text: str) -> Finding:
    seeds = int(rows["seed"].nunique())
    return Finding("reproduced" if holds else "contradicted", value, value, value, seeds, "", text)
