"""Section 4's table for every key frequency: errors by brute force, bounds, naive value (003-5, 003-6, 003-own-1)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import bounds, circuits, errors, moments
from allmlp.studies.quadrature.frequencies import Neurons, key_frequencies, read_off, weight_shares

RECIPE = 2

_ERROR = {"rtol": 5e-2, "atol": 5e-3}  # with another instruction set, errors differed by 1e-3, bounds by 3e-3
COLUMNS = {
    "frequency": exact("key frequency k"),
    "neurons": numeric("neurons with this frequency", rtol=0.05, atol=2),
    "weight_share_1": numeric("their share of the sum of all r", **_ERROR),
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
    weights = circuits.weights(trained)
    neurons = read_off(circuits.ov(weights), circuits.output(weights))
    shares, p = weight_shares(neurons), trained.run.hyperparameters["vocabulary"]
    rows = [{"weight_share_1": shares[k], **_row(neurons, k, p)} for k in key_frequencies(neurons)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(neurons: Neurons, k: int, p: int) -> dict[str, float]:
    """The numbers of one frequency's neurons."""
    of_k, theta = neurons.frequency == k, errors.angles(k, p)
    phi, psi, width = neurons.phi[of_k], neurons.psi[of_k], errors.normalised(neurons.weight[of_k])
    return {
        "frequency": k,
        "neurons": int(of_k.sum()),
        "abs_error_1": errors.largest_error("abs", theta, phi, psi, width),
        "identity_error_1": errors.largest_error("identity", theta, phi, psi, width),
        "abs_error_cosine_1": errors.largest_cosine_error("abs", theta, phi, psi, width),
        "identity_error_cosine_1": errors.largest_cosine_error("identity", theta, phi, psi, width),
        "box_bound_1": bounds.box_bound(phi, width),
        "folded_bound_1": bounds.folded_bound(phi, width),
        "angle_bound_1": bounds.angle_bound(phi, psi, width),
        "total_bound_1": bounds.total_bound(phi, psi, width),
        "moment_bound_1": moments.moment_bound(phi, psi, width),
        "peak_bound_1": moments.peak_bound(phi, psi, width),
        "moment_terms": 2 * moments.TERMS + 1,
        "naive_bound_1": errors.naive_bound(theta),
    }
