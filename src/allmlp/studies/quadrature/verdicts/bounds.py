"""Rules on what the bounds cost and on the moment bound (003-8, 003-own-1)."""

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.growth import AGREED_PRIMES, exponent
from allmlp.studies.quadrature.operations import BRUTE_FORCE, PAPER_BOUND
from allmlp.studies.quadrature.verdicts.common import by_seed, exact, heavy, in_every_seed, times


def bound_cost(evidence: Evidence) -> Finding:
    """003-8: counted operations of the bound do not grow with p, those of brute force in proportion to it."""
    rows, limit, paper = evidence.table("bound_cost"), evidence.margin["exponent_1"], evidence.paper
    return whole(
        {
            "(a) bound": _grows(rows, PAPER_BOUND, paper["bound_exponent_1"], limit),
            "(b) brute force": _grows(rows, BRUTE_FORCE, paper["brute_force_exponent_1"], limit),
        }
    )


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
    return whole(
        {
            "(a) never below the error": in_every_seed(rows, excess, 0.0, "largest error minus bound"),
            "(b) at most half the paper's bound": times(ratio, margin["ratio_1"]),
        }
    )


def _grows(rows: pd.DataFrame, procedure: str, stated: float, limit: float) -> Finding:
    """Is the exponent of p the stated one, at every number of neurons? The value is the farthest."""
    own = rows[(rows["procedure"] == procedure) & rows["p"].isin(AGREED_PRIMES)]
    complete = [of for _, of in own.groupby("neurons") if set(of["p"]) == set(AGREED_PRIMES)]
    # a fit of equal counts gives some 1e-15 that another CPU gives otherwise
    found = [round(exponent(of, "p", "operations_1"), 9) + 0.0 for of in complete]
    if not found:
        return Finding("undecided", np.nan, np.nan, np.nan, 0, "", "no number of neurons was counted at every p")
    farthest = max(found, key=lambda value: abs(value - stated))
    text = f"exponents of p from {min(found):.3g} to {max(found):.3g} over "
    text += f"{len(found)} numbers of neurons; the paper says {stated:g}, allowed {limit:g}"
    return exact(rows, abs(farthest - stated) <= limit, farthest, text)
