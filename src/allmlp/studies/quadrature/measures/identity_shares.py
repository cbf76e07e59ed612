"""How much of the identity part's spectrum lies at (k, -2k), and how real it is there (003-11)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits, spectrum
from allmlp.studies.quadrature.frequencies import key_frequencies

RECIPE = 1

_SHARE = {"rtol": 0.0, "atol": 0.03}
COLUMNS = {
    "matrix": exact("OV: id1 = W_out OV / 2 over (z, x); embed(y): id2 = W_out embed / 2 over (z, y)"),
    "rms_nats": numeric("root mean square of the matrix about its mean", rtol=0.05, atol=0.05),
    "energy_share_1": numeric("share of its energy at (k, -2k) of the key frequencies and mirror images", **_SHARE),
    "imaginary_share_1": numeric("sum of |imaginary parts| over sum of moduli there", **_SHARE),
    "constant_share_1": numeric("share of the energy that depends on z alone or on the token alone", **_SHARE),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per matrix, of the last weights. UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    keys = key_frequencies(circuits.neurons(weights))
    rows = []
    for name, matrix in spectrum.identity_matrices(weights).items():
        a = spectrum.spectrum(matrix)
        shares = spectrum.energy_share(a, keys), spectrum.imaginary_share(a, keys), spectrum.constant_share(a)
        rows.append((name, float(np.std(matrix)), *shares))
    return pd.DataFrame(rows, columns=list(COLUMNS))
