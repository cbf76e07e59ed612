"""Rules on the errors of the sums, their bounds and the angles behind them (003-5, -6, -own-1, -own-3, -own-4)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_below, judge_exact
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence
from allmlp.studies.quadrature.hand_coded import fitted_law
from allmlp.studies.quadrature.verdicts.common import (
    heavy_frequencies,
    judge_alike,
    judge_every_seed,
    judge_paper_number,
    judge_ratio,
    paper_mean,
    values_by_seed,
)


@judge_alike("error_table")
def error_table(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-5: errors and bound like those of the paper's frequencies, the bound below the naive one."""
    margin, paper = evidence.margin, evidence.paper
    keys = heavy_frequencies(rows, margin)
    largest = values_by_seed(rows, keys.groupby("seed")["total_bound_1"].max())
    naive = float(rows["naive_bound_1"].mean())
    columns = {
        "(a) absolute part's error": "abs_error_1",
        "(b) identity part's error": "identity_error_1",
        "(c) bound": "total_bound_1",
    }
    parts = {
        name: judge_paper_number(
            values_by_seed(rows, keys.groupby("seed")[column].mean()), paper_mean(paper, column), margin
        )
        for name, column in columns.items()
    }
    smaller = judge_below(largest, naive)
    size = f"the integral's size is {naive:.3g} by its definition, the paper prints {paper['naive_bound_1']:g} (E003-7)"
    smaller = replace(smaller, text=f"{smaller.text}; {size}", here={"naive_bound_1": naive})
    return {**parts, "(d) bound below the integral's size": smaller}


@judge_alike("error_table")
def angle_and_quadrature_terms(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-6: the two terms of the bound at each seed's key frequency with the largest bound."""
    margin, paper = evidence.margin, evidence.paper
    keys = heavy_frequencies(rows, margin)
    worst = keys.loc[keys.groupby("seed")["total_bound_1"].idxmax()].set_index("seed")
    terms = {
        "(a) phases": (worst["angle_bound_1"], "angle_bound_1"),
        "(b) quadrature": (worst["total_bound_1"] - worst["angle_bound_1"], "quadrature_bound_1"),
    }
    found = {}
    for name, (values, key) in terms.items():
        judged = judge_paper_number(values_by_seed(rows, values), paper[key], margin)
        found[name] = replace(judged, here={key: judged.value})
    return found


def moment_bound(evidence: Evidence) -> Finding:
    """003-own-1: never below the error, and at most half the paper's bound."""
    rows, margin = evidence.table("error_table"), evidence.margin
    keys = heavy_frequencies(rows, margin)
    keys = keys.assign(
        excess=keys["abs_error_1"] - keys["moment_bound_1"],
        ratio=np.log(keys["total_bound_1"] / keys["moment_bound_1"]),
    )
    excess = values_by_seed(rows, keys.groupby("seed")["excess"].max())
    ratio = values_by_seed(rows, keys.groupby("seed")["ratio"].mean())
    parts = {
        "(a) never below the error": judge_every_seed(excess, 0.0, "largest error minus bound"),
        "(b) at most half the paper's bound": judge_ratio(ratio, margin["ratio_1"]),
    }
    return require_all_parts(parts)


def hand_coded_law(evidence: Evidence) -> Finding:
    """003-own-3: no error exactly where the wobble is below pi/p, and the wobble is about 3/n^3."""
    rows, margin = evidence.table("hand_coded_law"), evidence.margin
    wrong = rows["perfect"].astype(bool) != rows["predicted_perfect"].astype(bool)
    law = fitted_law(rows)
    off = max(law.constant / 3, 3 / law.constant)
    disagree = f"{int(wrong.sum())} of {len(rows)} (n, offset, p) disagree"
    exponent = f"{law.exponent:.3f} by least squares, allowed -3 +- {margin['exponent_1']:g}"
    constant = f"{law.constant:.3f} by least squares, allowed a factor of {margin['factor_1']:g} from 3"
    parts = {
        "(a) perfect where the wobble is below pi/p": judge_exact(not wrong.any(), float(wrong.sum()), "", disagree),
        "(b) exponent -3": judge_exact(abs(law.exponent + 3) <= margin["exponent_1"], law.exponent, "", exponent),
        "(c) constant 3": judge_exact(off <= margin["factor_1"], law.constant, "", constant),
    }
    return require_all_parts(parts)


def angle_spacing(evidence: Evidence) -> Finding:
    """003-own-4: trained angles between random ones and a regular grid, by the error of their sums."""
    rows, limit = evidence.table("angle_controls"), evidence.margin["ratio_1"]
    keys = heavy_frequencies(rows, evidence.margin)
    logarithms = keys.assign(
        chance=np.log(keys["random_error_1"] / keys["abs_error_1"]),
        grid=np.log(keys["abs_error_1"] / keys["regular_error_1"]),
    )
    of_seed = logarithms.groupby("seed")[["chance", "grid"]].mean()
    parts = {
        "(a) error of random angles over the trained one": judge_ratio(values_by_seed(rows, of_seed["chance"]), limit),
        "(b) trained error over that of a regular grid": judge_ratio(values_by_seed(rows, of_seed["grid"]), limit),
    }
    return require_all_parts(parts)
