"""Each key frequency's sum as rectangles, against its integral, and against its bound (003-4, 003-7, 003-12)."""

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature.bounds import lay, total_bound
from allmlp.studies.quadrature.errors import error_at_any_angle, largest_error, proportions
from allmlp.studies.quadrature.keys import OF_KEY, Key, a_row_each

RECIPE = 1

_ERROR = {"rtol": 5e-2, "atol": 5e-3}  # as in error_table
COLUMNS = {
    **OF_KEY,
    "width_sum_rad": numeric("sum of the rectangles' widths", atol=1e-9),
    "centre_distance_widths": numeric(
        "median distance from a phase to the centre of its rectangle, best shift, in mean widths", rtol=0.2, atol=0.5
    ),
    "error_1": numeric("absolute part: largest error over all t = 0 .. p - 1 and a grid of real angles", **_ERROR),
    "excess_1": numeric("error_1 - total bound: above 0 were the bound wrong", **_ERROR),
    "ceiling_1": numeric("the same with what the error can rise between two angles of the grid", **_ERROR),
    "cosine_r2_1": numeric("R2 of G(t) on +cos(kt), no intercept, t = 0 .. p - 1", **_ERROR),
    "sine_r2_1": numeric("R2 of H(t) on -sin(kt), the same", **_ERROR),
    "cosine_slope_1": numeric(
        "least-squares slope of G(t) on cos(kt), of either sign; the integral's is 2/3", **_ERROR
    ),
    "sine_slope_1": numeric("the same of H(t) on -sin(kt)", **_ERROR),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency of the last weights. UserError for an architecture without these circuits."""
    return a_row_each(trained, COLUMNS, _numbers)


def _numbers(key: Key) -> dict[str, float]:
    """Of one frequency's neurons."""
    boxes, bound = lay(key.rule.phi, key.rule.width), total_bound(key.rule)
    centres = (boxes.edges[1:] + boxes.edges[:-1]) / 2
    anywhere, ceiling = error_at_any_angle(key.rule)
    error = max(largest_error("abs", key.theta, key.rule), anywhere)
    cosine, sine = proportions(key.k, key.p, key.rule)
    return {
        "width_sum_rad": float(key.rule.width.sum()),
        "centre_distance_widths": float(np.median(np.abs(centres - boxes.phases)) / np.diff(boxes.edges).mean()),
        "error_1": error,
        "excess_1": error - bound,
        "ceiling_1": ceiling - bound,
        "cosine_r2_1": cosine.r2,
        "sine_r2_1": sine.r2,
        "cosine_slope_1": cosine.slope,
        "sine_slope_1": sine.slope,
    }
