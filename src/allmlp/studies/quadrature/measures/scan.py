"""A trained network in one row: what the grid over p and width and the sweep of weight decay compare."""

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import bounds, circuits, errors
from allmlp.studies.quadrature.frequencies import FADING_SHARE, Neurons, read_off, weight_shares, wrap

RECIPE = 1

_SHARE = {"rtol": 0.0, "atol": 0.1}
_ERROR = {"rtol": 0.1, "atol": 0.02}  # means over keys: a key near FADING_SHARE may enter on another CPU type
COLUMNS = {
    "accuracy_1": numeric("share of all p^2 pairs whose largest logit is the right sum", atol=0.02),
    "smallest_margin_nats": numeric("right logit minus the largest other, least over all pairs", rtol=0.2, atol=0.5),
    "frequencies": numeric(f"frequencies with {FADING_SHARE:g} or more of the sum of all r: the keys", atol=1),
    "key_share_1": numeric("their share of the sum of all r", **_SHARE),
    "share_in_1": numeric("of the variance of OV at its frequency, mean over neurons of keys", **_SHARE),
    "share_out_1": numeric("of the variance of W_out at its frequency, mean over neurons of keys", **_SHARE),
    "matching_1": numeric("share of neurons of keys with one frequency in and out", **_SHARE),
    "angle_error_rad": numeric("|psi - 2 phi|, mean over neurons of keys", **_ERROR),
    "abs_error_1": numeric("absolute part: max over t of |sum - integral|, mean over keys", **_ERROR),
    "identity_error_1": numeric("the same of the identity part", **_ERROR),
    "total_bound_1": numeric("the paper's bound, boxes and angles, mean over keys", **_ERROR),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row, of the last weights. Raises UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    margin_XY = circuits.margins(circuits.logits(weights))
    neurons = read_off(circuits.ov(weights), circuits.output(weights))
    shares = {k: share for k, share in weight_shares(neurons).items() if share >= FADING_SHARE}
    of_key = np.isin(neurons.frequency, list(shares))
    row = {
        "accuracy_1": (margin_XY > 0).mean(),
        "smallest_margin_nats": margin_XY.min(),
        "frequencies": len(shares),
        "key_share_1": sum(shares.values()),
        "share_in_1": neurons.share_in[of_key].mean(),
        "share_out_1": neurons.share_out[of_key].mean(),
        "matching_1": (neurons.frequency == neurons.frequency_out)[of_key].mean(),
        "angle_error_rad": np.abs(wrap(neurons.psi - 2 * neurons.phi))[of_key].mean(),
        **_mean_over_keys(neurons, list(shares), trained.run.hyperparameters["vocabulary"]),
    }
    return pd.DataFrame([row], columns=list(COLUMNS))


def _mean_over_keys(neurons: Neurons, keys: list[int], p: int) -> dict[str, float]:
    """Errors and bound of the keys' sums, each key counting once. NaN where there is no key."""
    rows = []
    for k in keys:
        of_k, theta = neurons.frequency == k, errors.angles(k, p)
        phi, psi, width = neurons.phi[of_k], neurons.psi[of_k], errors.normalised(neurons.weight[of_k])
        rows.append(
            {
                "abs_error_1": errors.largest_error("abs", theta, phi, psi, width),
                "identity_error_1": errors.largest_error("identity", theta, phi, psi, width),
                "total_bound_1": bounds.total_bound(phi, psi, width),
            }
        )
    means = pd.DataFrame(rows, columns=["abs_error_1", "identity_error_1", "total_bound_1"]).mean()
    return {str(name): float(mean) for name, mean in means.items()}
