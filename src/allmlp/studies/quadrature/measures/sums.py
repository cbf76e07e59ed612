"""Each key frequency's sum as rectangles, against its integral, and against its bound (003-4, 003-7, 003-12)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import bounds, circuits, errors, sums
from allmlp.studies.quadrature.frequencies import Neurons, key_frequencies, read_off, weight_shares

RECIPE = 1

_ERROR = {"rtol": 5e-2, "atol": 5e-3}  # as in error_table
COLUMNS = {
    "frequency": exact("key frequency k"),
    "neurons": numeric("neurons with this frequency", rtol=0.05, atol=2),
    "weight_share_1": numeric("their share of the sum of all r", **_ERROR),
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
    weights = circuits.weights(trained)
    neurons = read_off(circuits.ov(weights), circuits.output(weights))
    shares, p = weight_shares(neurons), trained.run.hyperparameters["vocabulary"]
    rows = [{"weight_share_1": shares[k], **_row(neurons, k, p)} for k in key_frequencies(neurons)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(neurons: Neurons, k: int, p: int) -> dict[str, float]:
    """The numbers of one frequency's neurons."""
    of_k = neurons.frequency == k
    phi, psi, width = neurons.phi[of_k], neurons.psi[of_k], errors.normalised(neurons.weight[of_k])
    boxes, bound = bounds.lay(phi, width), bounds.total_bound(phi, psi, width)
    centres = (boxes.edges[1:] + boxes.edges[:-1]) / 2
    at_sums = errors.largest_error("abs", errors.angles(k, p), phi, psi, width)
    anywhere, ceiling = sums.error_at_any_angle(phi, psi, width)
    cosine, sine = sums.proportions(k, p, phi, psi, width)
    error = max(at_sums, anywhere)
    return {
        "frequency": k,
        "neurons": int(of_k.sum()),
        "width_sum_rad": float(width.sum()),
        "centre_distance_widths": float(np.median(np.abs(centres - boxes.phases)) / np.diff(boxes.edges).mean()),
        "error_1": error,
        "excess_1": error - bound,
        "ceiling_1": ceiling - bound,
        "cosine_r2_1": cosine.r2,
        "sine_r2_1": sine.r2,
        "cosine_slope_1": cosine.slope,
        "sine_slope_1": sine.slope,
    }
