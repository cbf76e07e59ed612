"""Frequency, phases, amplitudes and width of every neuron of the trained network (003-1, 003-2)."""

import math

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import KEY_SHARE, key_frequencies, normalised, weight_shares, wrap

RECIPE = 1

# On another CPU type one neuron in some hundreds, near a tie of two frequencies and hardly in use, takes the other
# one, and with it another phase and width, without a bound. Numbers that must agree are in error_table.
_FREE = {"rtol": 0.0, "atol": math.inf}
_SHARE = {"rtol": 0.0, "atol": 0.3}
COLUMNS = {
    "neuron": exact("position of the neuron in the hidden layer"),
    "frequency": numeric("k with the most variance of OV over input tokens", **_FREE),
    "frequency_out": numeric("k with the most variance of W_out over output tokens", **_FREE),
    "share_in_1": numeric("share of the variance of OV at `frequency`", **_SHARE),
    "share_out_1": numeric("share of the variance of W_out at `frequency_out`", **_SHARE),
    "phi_rad": numeric("phase of OV at `frequency`: c cos(kx + phi)", **_FREE),
    "psi_rad": numeric("phase of W_out at `frequency`: e cos(kz + psi)", **_FREE),
    "amplitude_in_1": numeric("c, of OV at `frequency`", rtol=2e-2, atol=0.2),
    "amplitude_out_1": numeric("e, of W_out at `frequency`", rtol=2e-2, atol=0.05),
    "width_1": numeric("r = 2 c e, scaled to sum to 2 pi over the neurons of its frequency", **_FREE),
    "angle_error_plus_rad": numeric("psi - 2 phi within pi of 0 (E003-2)", **_FREE),
    "angle_error_minus_rad": numeric("psi + 2 phi within pi of 0: the sign as printed", **_FREE),
    "is_key": numeric(f"do its frequency's neurons carry {KEY_SHARE:g} or more of the sum of all r?", **_FREE),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per neuron of the last weights. Raises UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    neurons = circuits.neurons(weights)
    width = np.zeros(len(neurons.phi))
    for k, share in weight_shares(neurons).items():
        if share > 0:  # a dead neuron alone at its frequency has no width
            of_k = neurons.frequency == k
            width[of_k] = normalised(neurons.weight[of_k])
    return pd.DataFrame(
        {
            "neuron": np.arange(len(width)),
            "frequency": neurons.frequency,
            "frequency_out": neurons.frequency_out,
            "share_in_1": neurons.share_in,
            "share_out_1": neurons.share_out,
            "phi_rad": neurons.phi,
            "psi_rad": neurons.psi,
            "amplitude_in_1": neurons.amplitude_in,
            "amplitude_out_1": neurons.amplitude_out,
            "width_1": width,
            "angle_error_plus_rad": wrap(neurons.psi - 2 * neurons.phi),
            "angle_error_minus_rad": wrap(neurons.psi + 2 * neurons.phi),
            "is_key": np.isin(neurons.frequency, key_frequencies(neurons)),
        }
    )[list(COLUMNS)]
