"""The error of each key frequency's sum beside those of other angles, from a grid to chance (003-own-4)."""

from functools import partial

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature.controls import CONTROLS, controls, drawn_errors
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.keys import COLUMNS as OF_KEY
from allmlp.studies.quadrature.keys import Key, a_row_each
from allmlp.studies.quadrature.rule import two_phi

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
    **OF_KEY,
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
    return a_row_each(trained, COLUMNS, partial(_errors, trained.run.seed))


def _errors(seed: int, key: Key) -> dict[str, float]:
    """Of one frequency's neurons, as they are and with other angles."""
    rng = np.random.Generator(np.random.Philox(key=[seed, key.k]))
    row = {
        "abs_error_1": largest_error("abs", key.theta, key.rule),
        "two_phi_error_1": largest_error("abs", key.theta, two_phi(key.rule.phi, key.rule.width)),
    }
    for name, draw in controls(key.rule).items():
        drawn = drawn_errors(draw, key.theta, DRAWS, rng)
        row |= {
            f"{name}_error_1": float(drawn.mean()),
            f"{name}_low_1": float(np.quantile(drawn, 0.025)),
            f"{name}_high_1": float(np.quantile(drawn, 0.975)),
        }
    return row
