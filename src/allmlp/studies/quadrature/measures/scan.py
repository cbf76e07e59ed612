"""A trained network in one row, for the grid over p and width and the sweep of weight decay."""

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.bounds import total_bound
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.frequencies import FADING_SHARE, wrap
from allmlp.studies.quadrature.keys import keys

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
    margin_XY, neurons = circuits.margins(circuits.logits(weights)), circuits.neurons(weights)
    found = keys(neurons, trained.run.hyperparameters["vocabulary"], FADING_SHARE)
    of_key = np.isin(neurons.frequency, [key.k for key in found])
    row = {
        "accuracy_1": (margin_XY > 0).mean(),
        "smallest_margin_nats": margin_XY.min(),
        "frequencies": len(found),
        "key_share_1": sum(key.share for key in found),
        "share_in_1": neurons.share_in[of_key].mean(),
        "share_out_1": neurons.share_out[of_key].mean(),
        "matching_1": (neurons.frequency == neurons.frequency_out)[of_key].mean(),
        "angle_error_rad": np.abs(wrap(neurons.psi - 2 * neurons.phi))[of_key].mean(),
    }
    errors = [
        (
            largest_error("abs", key.theta, key.rule),
            largest_error("identity", key.theta, key.rule),
            total_bound(key.rule),
        )
        for key in found
    ]  # each key counts once; NaN where there is none
    means = pd.DataFrame(errors, columns=["abs_error_1", "identity_error_1", "total_bound_1"], dtype=float).mean()
    return pd.DataFrame([row]).join(means.to_frame().T)[list(COLUMNS)]
