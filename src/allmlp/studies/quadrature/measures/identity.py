"""The 2-D Fourier series of the network's identity part."""

import math

import numpy as np
import pandas as pd

from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature import circuits, spectrum
from allmlp.studies.quadrature.frequencies import key_frequencies

_SHARE = {"rtol": 0.0, "atol": 0.03}


@measure(
    recipe=1,
    matrix=exact("OV: id1 = W_out OV / 2 over (z, x); embed(y): id2 = W_out embed / 2 over (z, y)"),
    rms_nats=numeric("root mean square of the matrix about its mean", rtol=0.05, atol=0.05),
    energy_share_1=numeric("share of its energy at (k, -2k) of the key frequencies and mirror images", **_SHARE),
    imaginary_share_1=numeric("sum of |imaginary parts| over sum of moduli there", **_SHARE),
    constant_share_1=numeric("share of the energy that depends on z alone or on the token alone", **_SHARE),
)
def identity_shares(trained: TrainedRun) -> Rows:
    """How much of the identity part's spectrum lies at (k, -2k), and how real it is there (003-11).

    One row per matrix, of the last weights. UserError for an architecture without these circuits.
    """
    weights = circuits.weights(trained)
    keys = key_frequencies(circuits.neurons(weights))
    for name, matrix in spectrum.identity_matrices(weights).items():
        a = spectrum.spectrum(matrix)
        shares = spectrum.energy_share(a, keys), spectrum.imaginary_share(a, keys), spectrum.constant_share(a)
        yield (name, float(np.std(matrix)), *shares)


LISTED = 100  # of each matrix: the number is fixed, or another CPU type could list one more
# Two coefficients of almost one size can change places in the list: only sizes are compared.
_FREE = {"rtol": 0.0, "atol": math.inf}


@measure(
    recipe=1,
    matrix=exact("OV: id1 = W_out OV / 2 over (z, x); embed(y): id2 = W_out embed / 2 over (z, y)"),
    rank=exact("1 is the largest of the matrix; one of each mirrored pair, without the mean"),
    z_frequency=numeric("frequency over z, 0 to (p - 1)/2", **_FREE),
    x_frequency=numeric("frequency over the token, within p/2 of 0", **_FREE),
    real_nats=numeric("real part of a", **_FREE),
    imaginary_nats=numeric("imaginary part of a", **_FREE),
    modulus_nats=numeric("|a|", rtol=0.05, atol=0.1),
    is_key=numeric("is it (k, -2k) of a key frequency?", **_FREE),
)
def identity_spectrum(trained: TrainedRun) -> Rows:
    """The largest coefficients of the identity part's 2-D Fourier series, for the figure of 003-11.

    LISTED rows per matrix (all, if p has fewer), of the last weights. UserError without these circuits.
    """
    weights = circuits.weights(trained)
    p = trained.run.hyperparameters["vocabulary"]
    keys = key_frequencies(circuits.neurons(weights))
    parts = []
    for name, matrix in spectrum.identity_matrices(weights).items():
        found = spectrum.largest_coefficients(spectrum.spectrum(matrix), LISTED)
        at_key = found["z_frequency"].isin(keys) & ((found["x_frequency"] + 2 * found["z_frequency"]) % p == 0)
        found = found.rename(columns={"real": "real_nats", "imaginary": "imaginary_nats"})
        size = np.hypot(found["real_nats"], found["imaginary_nats"])
        parts.append(found.assign(matrix=name, rank=np.arange(1, len(found) + 1), modulus_nats=size, is_key=at_key))
    return pd.concat(parts, ignore_index=True)
