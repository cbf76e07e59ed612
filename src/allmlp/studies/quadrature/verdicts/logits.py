"""Rules on the logits: two laws, their coefficients, and the identity part's spectrum (003-9, 003-10, 003-11)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import partial_conjunction
from allmlp.judging.rules import join_findings, judge_above, judge_below
from allmlp.judging.statistics import Finding, judge_better, judge_prediction
from allmlp.spec import labels
from allmlp.spec.protocols import Evidence
from allmlp.studies.quadrature.verdicts.common import (
    judge_accurate,
    paper_mean,
    paper_numbers,
    require_networks,
    seeds,
    values_by_seed,
)

# Half a unit of the last printed digit: R2 has two decimals, C_k and D_k one.
R2_ROUNDING, COEFFICIENT_ROUNDING = 0.005, 0.05
REFUTING = 2  # R2 values outside, of four, that contradict
OF_PAPER = {  # paper key -> part and law
    "abs_form_r2_1": ("logits", "abs"),
    "cosine_form_r2_1": ("logits", "cosine"),
    "abs_only_abs_form_r2_1": ("abs", "abs"),
    "abs_only_cosine_form_r2_1": ("abs", "cosine"),
}


@judge_accurate("regressions")
def regressions(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-9: which law describes the whole logits better, and which the absolute part's."""
    margin, paper = evidence.margin, evidence.paper
    found = {key: r2_by_seed(rows, *of) for key, of in OF_PAPER.items()}
    four = {
        key: judge_prediction(values, paper[key], max_half_width=margin["half_width_1"], rounding=R2_ROUNDING)
        for key, values in found.items()
    }
    whole_gap = found["cosine_form_r2_1"] - found["abs_form_r2_1"]
    abs_gap = found["abs_only_abs_form_r2_1"] - found["abs_only_cosine_form_r2_1"]
    return {
        "(a) whole logits, cos above |cos| cos": judge_better(whole_gap, margin["r2_gap_1"]),
        "(b) absolute part, |cos| cos above cos": judge_better(abs_gap, margin["r2_gap_1"]),
        "(c) the four numbers": _join_numbers(four),
    }


@judge_accurate("coefficients")
def coefficients(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-10: sign of D_k, its size beside C_k, and C_k, over all key frequencies; C_k of networks with the paper's
    number of them, which share the logits.

    D_k multiplies cos(k(x - y)) cos(k(x + y - z)) in the logits, as in Appendix B's last expression, the only one with
    both C_k and D_k. The text's other D_k, of logit_id1, is less than half of it (E003-6).
    """
    margin, paper = evidence.margin, evidence.paper
    of_seed = rows.groupby("seed")
    alone = (-rows["ov_cosine_nats"] / rows["abs_coefficient_nats"]).groupby(rows["seed"]).mean()
    ratio = _judge_size(values_by_seed(rows, of_seed["ratio_1"].mean()), *paper_ratio(paper), margin)
    size = (paper_mean(paper, "abs_coefficient_1"), COEFFICIENT_ROUNDING)
    largest = values_by_seed(rows, of_seed["identity_coefficient_nats"].max())
    alike = rows[rows["seed"].isin(seeds(evidence))]
    n, of = alike["seed"].nunique(), rows["seed"].nunique()
    absolute = values_by_seed(alike, alike.groupby("seed")["abs_coefficient_nats"].mean())
    return {
        "(a) negative identity coefficient": judge_below(largest, 0.0, "nats"),
        "(b) a quarter of the absolute one": replace(
            ratio, text=f"{ratio.text}; with D_k as the text defines it the mean is {alone.mean():.3g} (E003-6)"
        ),
        "(c) absolute coefficient": require_networks(
            _judge_size(absolute, *size, margin, "nats"), n, of, evidence, "are like the paper's"
        ),
    }


@judge_accurate("identity_shares")
def identity_spectrum(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-11: the energy of W_out OV / 2 lies at (k, -2k), with real coefficients."""
    margin, means = evidence.margin, rows[rows["matrix"] == "OV"].groupby("seed").mean(numeric_only=True)
    return {
        "(a) energy at (k, -2k)": judge_above(values_by_seed(rows, means["energy_share_1"]), margin["energy_share_1"]),
        "(b) real": judge_below(values_by_seed(rows, means["imaginary_share_1"]), margin["imaginary_share_1"]),
    }


def r2_by_seed(rows: pd.DataFrame, part: str, law: str) -> np.ndarray:
    """R2 of a part on a law, one per seed."""
    own = rows[(rows["part"] == part) & (rows["law"] == law)]
    return values_by_seed(rows, own.groupby("seed")["r2_1"].mean())


def paper_ratio(paper: Mapping[str, float]) -> tuple[float, float]:
    """The paper's mean of -D_k / C_k, and how far from it numbers that round to the printed ones can lie."""
    C, D = (np.array(paper_numbers(paper, f"{part}_coefficient_1")) for part in ("abs", "identity"))
    ratio = float((-D / C).mean())
    return ratio, float(((-D + COEFFICIENT_ROUNDING) / (C - COEFFICIENT_ROUNDING)).mean()) - ratio


def _judge_size(
    values: np.ndarray, printed: float, rounding: float, margin: Mapping[str, float], unit: str = ""
) -> Finding:
    """Could the paper's mean over its frequencies be one more seed's?"""
    limit = margin["half_width_share_1"] * printed
    return judge_prediction(values, printed, max_half_width=limit, rounding=rounding, unit=unit)


def _join_numbers(found: Mapping[str, Finding]) -> Finding:
    """One part with several numbers: reproduced if all are, contradicted if REFUTING or more are outside."""
    verdict, rests = join_findings(found.values(), refuting=REFUTING)
    inside = sum(finding.verdict == "reproduced" for finding in found.values())
    text = "; ".join(f"{labels.find_label(name).words}: {finding.text}" for name, finding in found.items())
    n = min(finding.n for finding in found.values())
    p_against, unit = (
        partial_conjunction((finding.p_against for finding in found.values()), REFUTING),
        f"of {len(found)} numbers",
    )
    here = {name: finding.value for name, finding in found.items()}
    return Finding(verdict, inside, np.nan, np.nan, n, unit, text, rests=rests, p_against=p_against, here=here)
