"""Rules on integrals, counts and sums, without training (003-3, 003-8, 003-13)."""

from dataclasses import replace

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_exact, mark_corrected, undecided_finding
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence
from allmlp.studies.quadrature.integrals import APPENDIX, MAIN
from allmlp.studies.quadrature.operations import AGREED_PRIMES, BRUTE_FORCE, PAPER_BOUND, exponent


def closed_forms(evidence: Evidence) -> Finding:
    """003-3: the printed integrals against numerical ones; exact, so true or false without a test."""
    rows, limit = evidence.table("closed_forms"), evidence.margin["difference_1"]
    parts = {
        "(a) the integrals of ReLU": _judge_printed(rows[rows["where"] == MAIN], limit),
        "(b) its identity and absolute parts": _judge_printed(rows[rows["where"] == APPENDIX], limit),
    }
    return require_all_parts(parts)


def _judge_printed(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the paper's value right in every row?"""
    missed = (rows["value_1"] - rows["paper_1"]).abs()
    worst = float(missed.max(skipna=False))
    wrong = sorted(rows.loc[missed > limit, "integral"].unique())
    text = f"largest difference {worst:.3g}, allowed {limit:g}"
    text += f"; not as printed: {', '.join(wrong)}" if wrong else ""
    return mark_corrected(judge_exact(worst <= limit, worst, "", text))


def bound_cost(evidence: Evidence) -> Finding:
    """003-8: counted operations of the bound do not grow with p, those of brute force in proportion to it."""
    rows = evidence.table("bound_cost")
    parts = {
        "(a) bound": _judge_growth(rows, PAPER_BOUND, "bound_exponent_1", evidence),
        "(b) brute force": _judge_growth(rows, BRUTE_FORCE, "brute_force_exponent_1", evidence),
    }
    return require_all_parts(parts)


def _judge_growth(rows: pd.DataFrame, procedure: str, key: str, evidence: Evidence) -> Finding:
    """Is the exponent of p the stated one, at every number of neurons? The value is the farthest."""
    stated, limit = evidence.paper[key], evidence.margin["exponent_1"]
    own = rows[(rows["procedure"] == procedure) & rows["p"].isin(AGREED_PRIMES)]
    complete = [of for _, of in own.groupby("neurons") if set(of["p"]) == set(AGREED_PRIMES)]
    # a fit of equal counts gives some 1e-15 that another CPU gives otherwise
    found = [round(exponent(of, "p", "operations_1"), 9) + 0.0 for of in complete]
    if not found:
        return undecided_finding("no number of neurons was counted at every p")
    farthest = max(found, key=lambda value: abs(value - stated))
    text = f"exponents of p from {min(found):.3g} to {max(found):.3g} over "
    text += f"{len(found)} numbers of neurons; the paper says {stated:g}, allowed {limit:g}"
    return replace(judge_exact(abs(farthest - stated) <= limit, farthest, "", text), here={key: farthest})


def half_integral(evidence: Evidence) -> Finding:
    """003-13: do the five printed coefficients add up to the stated half?"""
    rows, limit = evidence.table("printed_numbers"), evidence.margin["difference_1"]
    own = rows[rows["item"] == "003-13"]
    missed = float((own["value_1"] - evidence.paper["coefficient_sum_1"]).abs().max(skipna=False))
    text = f"sum {own['value_1'].iloc[0]:.15g}, {missed:.3g} from the stated one, allowed {limit:g}"
    return replace(
        judge_exact(missed <= limit, missed, "", text), here={"coefficient_sum_1": float(own["value_1"].iloc[0])}
    )
