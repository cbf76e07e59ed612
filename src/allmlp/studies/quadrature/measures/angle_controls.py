"""The error of each key frequency's sum beside those of other angles, from a grid to chance (003-own-4)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits, errors
from allmlp.studies.quadrature.controls import CONTROLS, controls, drawn_errors
from allmlp.studies.quadrature.frequencies import Neurons, key_frequencies, read_off, weight_shares

RECIPE = 1

DRAWS = 200
_ERROR = {"rtol": 5e-2, "atol": 5e-3}
_DRAWN = {"rtol": 0.3, "atol": 5e-3}  # one neuron more or less on another CPU type, and all draws are others
_MEANINGS = {
    "random": "the same widths at independent uniform angles",
    "own_box": "the same widths, each at a random point of its own box",
    "jittered": "as many equal widths, each at a random point of its box",
    "regular": "as many equal widths, equally spaced",
}
COLUMNS = {
    "frequency": exact("key frequency k"),
    "neurons": numeric("neurons with this frequency", rtol=0.05, atol=2),
    "weight_share_1": numeric("their share of the sum of all r", **_ERROR),
    "abs_error_1": numeric("absolute part as trained: max over t of |sum - integral|", **_ERROR),
    "two_phi_error_1": numeric("the same with psi = 2 phi, as the controls have it", **_ERROR),
    **{
        f"{name}_{part}_1": numeric(f"{said} of {DRAWS} draws: {_MEANINGS[name]}, psi = 2 phi", **_DRAWN)
        for name in CONTROLS
        for part, said in (("error", "mean"), ("low", "2.5 % quantile"), ("high", "97.5 % quantile"))
    },
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency of the last weights. UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    neurons = read_off(circuits.ov(weights), circuits.output(weights))
    shares, p = weight_shares(neurons), trained.run.hyperparameters["vocabulary"]
    rows = [{"weight_share_1": shares[k], **_row(neurons, k, p, trained.run.seed)} for k in key_frequencies(neurons)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(neurons: Neurons, k: int, p: int, seed: int) -> dict[str, float]:
    """The errors of one frequency's neurons, as they are and with other angles."""
    of_k, theta = neurons.frequency == k, errors.angles(k, p)
    phi, psi, width = neurons.phi[of_k], neurons.psi[of_k], errors.normalised(neurons.weight[of_k])
    rng = np.random.Generator(np.random.Philox(key=[seed, k]))
    row = {
        "frequency": k,
        "neurons": int(of_k.sum()),
        "abs_error_1": errors.largest_error("abs", theta, phi, psi, width),
        "two_phi_error_1": errors.largest_error("abs", theta, phi, 2 * phi, width),
    }
    for name, draw in controls(phi, width).items():
        drawn = drawn_errors(draw, theta, DRAWS, rng)
        row |= {
            f"{name}_error_1": float(drawn.mean()),
            f"{name}_low_1": float(np.quantile(drawn, 0.025)),
            f"{name}_high_1": float(np.quantile(drawn, 0.975)),
        }
    return row
