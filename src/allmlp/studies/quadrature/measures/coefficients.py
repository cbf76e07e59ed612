"""C_k and D_k of Appendix B for every key frequency, and the integral's prediction of C_k (003-10)."""

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits, laws, spectrum
from allmlp.studies.quadrature.keys import OF_KEY, keys

RECIPE = 1

_NATS = {"rtol": 5e-2, "atol": 0.3}
COLUMNS = {
    **OF_KEY,
    "abs_coefficient_nats": numeric("C: absolute part's logits on |cos(k(x-y)/2)| cos(k(x+y-z))", **_NATS),
    "predicted_abs_nats": numeric("C if the sum were its integral: (2/3) R / 2 pi, R the sum of r", **_NATS),
    "identity_coefficient_nats": numeric("D: identity part's logits on cos(k(x-y)) cos(k(x+y-z))", **_NATS),
    "ratio_1": numeric("-D / C", rtol=0.1, atol=0.03),
    "ov_cosine_nats": numeric("D as the amplitude of cos(kz - 2kx) in id1 = W_out OV / 2: 2 Re a", **_NATS),
    "ov_sine_nats": numeric("E, of sin(kz - 2kx) in id1: -2 Im a", **_NATS),
    "embed_cosine_nats": numeric("2 Re a of id2 = W_out embed / 2; D = 2 ov_cosine_nats + embed_cosine_nats", **_NATS),
    "joint_abs_nats": numeric("C of the whole logits, fitted together with the next", **_NATS),
    "joint_identity_nats": numeric("D of the whole logits, fitted together with the last", **_NATS),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency of the last weights. UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    found = keys(circuits.neurons(weights), trained.run.hyperparameters["vocabulary"])
    frequencies = [key.k for key in found]
    parts = laws.parts(weights)
    profile = {part: laws.profiles(parts[part], frequencies) for part in ("logits", "abs", "identity")}
    a_K = {
        name: spectrum.at_keys(spectrum.spectrum(matrix), frequencies)
        for name, matrix in spectrum.identity_matrices(weights).items()
    }
    rows = []
    for i, key in enumerate(found):
        C = laws.coefficients(profile["abs"][i], "abs", key.k)[0]
        D = laws.coefficients(profile["identity"][i], "double", key.k)[0]
        joint = laws.coefficients(profile["logits"][i], "both", key.k)
        rows.append(
            {
                "frequency": key.k,
                "neurons": len(key.weight),
                "weight_share_1": key.share,
                "abs_coefficient_nats": C,
                "predicted_abs_nats": key.weight.sum() / (3 * np.pi),
                "identity_coefficient_nats": D,
                "ratio_1": -D / C,
                "ov_cosine_nats": 2 * a_K["OV"][i].real,
                "ov_sine_nats": -2 * a_K["OV"][i].imag,
                "embed_cosine_nats": 2 * a_K["embed(y)"][i].real,
                "joint_abs_nats": joint[0],
                "joint_identity_nats": joint[1],
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
