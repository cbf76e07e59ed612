"""Section 4's table for every key frequency: errors by brute force, bounds, naive value (003-5, 003-6, 003-own-1)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import bounds, moments
from allmlp.studies.quadrature.errors import difference, naive_bound
from allmlp.studies.quadrature.keys import OF_KEY, Key, a_row_each

RECIPE = 2

_ERROR = {"rtol": 5e-2, "atol": 5e-3}  # with another instruction set, errors differed by 1e-3, bounds by 3e-3
COLUMNS = {
    **OF_KEY,
    "abs_error_1": numeric(
        "absolute part: max over t of |sum - integral| of both integrals as one complex number", **_ERROR
    ),
    "identity_error_1": numeric("the same of the identity part, whose integral is 0", **_ERROR),
    "abs_error_cosine_1": numeric("absolute part, the cosine integral alone", **_ERROR),
    "identity_error_cosine_1": numeric("identity part, the cosine integral alone", **_ERROR),
    "box_bound_1": numeric("rectangles over the whole period, best shift", **_ERROR),
    "folded_bound_1": numeric("rectangles with the two halves overlapped, best shift", **_ERROR),
    "angle_bound_1": numeric("sum of width times |psi - 2 phi|", **_ERROR),
    "total_bound_1": numeric("the smaller of box and folded bound, plus the angle bound", **_ERROR),
    "moment_bound_1": numeric("sum of the sizes of the Fourier terms of the error, plus tail: any theta", **_ERROR),
    "peak_bound_1": numeric("largest sum of the same terms over theta, plus tail", **_ERROR),
    "moment_terms": exact("terms |m| <= M of the two bounds above, 2 M + 1"),
    "naive_bound_1": numeric("mean over t of |integral of the absolute part|", rtol=1e-9),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency of the last weights. UserError for an architecture without these circuits."""
    return a_row_each(trained, COLUMNS, _numbers)


def _numbers(key: Key) -> dict[str, float]:
    """Of one frequency's neurons."""
    rule, off = key.rule, {part: difference(part, key.theta, key.rule) for part in ("abs", "identity")}
    return {
        **{f"{part}_error_1": float(np.abs(values).max()) for part, values in off.items()},
        **{f"{part}_error_cosine_1": float(np.abs(values.real).max()) for part, values in off.items()},
        "box_bound_1": bounds.box_bound(rule),
        "folded_bound_1": bounds.folded_bound(rule),
        "angle_bound_1": bounds.angle_bound(rule),
        "total_bound_1": bounds.total_bound(rule),
        "moment_bound_1": moments.moment_bound(rule),
        "peak_bound_1": moments.peak_bound(rule),
        "moment_terms": 2 * moments.TERMS + 1,
        "naive_bound_1": naive_bound(key.theta),
    }
