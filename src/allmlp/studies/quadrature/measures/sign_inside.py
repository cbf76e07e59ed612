"""Equation 1 takes |cos(k(x-y)/2)| out of the ReLU and leaves no sign behind: what that changes (E003-4)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.errors import PARTS, Part, trained_sum
from allmlp.studies.quadrature.frequencies import Neurons, key_frequencies, read_off, weight_shares

RECIPE = 1

FACTOR: dict[Part, float] = {"abs": 0.5, "identity": 0.5, "relu": 1.0}  # ReLU(u) = |u|/2 + u/2
COLUMNS = {
    "frequency": exact("key frequency k"),
    "weight_share_1": numeric("its neurons' share of the sum of all r", rtol=5e-2, atol=5e-3),
    "part": exact("abs, identity: |u|/2 and u/2 of ReLU(u); relu: all of it"),
    "rms_nats": numeric("root mean square of its single-frequency sum over all x, y, z", rtol=0.05, atol=0.05),
    "difference_1": numeric("root mean square of what leaving the sign out changes, over rms_nats", rtol=0, atol=0.1),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency and part, of the last weights. UserError without these circuits."""
    weights = circuits.weights(trained)
    neurons = read_off(circuits.ov(weights), circuits.output(weights))
    shares, p = weight_shares(neurons), trained.run.hyperparameters["vocabulary"]
    rows = [(k, shares[k], part, *_sizes(neurons, k, p, part)) for k in key_frequencies(neurons) for part in PARTS]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sizes(neurons: Neurons, k: int, p: int, part: Part) -> tuple[float, float]:
    """rms_nats and difference_1 of one frequency.

    With D = cos(k(x - y)/2), theta = k(x + y)/2, g the part and T(theta) = sum_i r_i g(cos(theta + phi_i))
    exp(i psi_i), its sum is Re(|D| T(theta') exp(ikz)), theta' = theta, or theta + pi where D < 0. The paper
    has T(theta) everywhere.
    Over z the mean square of Re(Q exp(ikz)) is |Q|^2 / 2.
    """
    of_k = neurons.frequency == k
    x, y = np.indices((p, p))
    D = np.cos(np.pi * k * (x - y) / p)
    step = (k * (x + y)) % (2 * p)  # theta in steps of pi / p
    T = FACTOR[part] * trained_sum(
        part, np.pi * np.arange(2 * p) / p, neurons.phi[of_k], neurons.psi[of_k], neurons.weight[of_k]
    )
    inside, outside = T[(step + np.where(D < 0, p, 0)) % (2 * p)], T[step]
    right, missed = (np.sqrt(np.mean(np.abs(D * Q) ** 2) / 2) for Q in (inside, outside - inside))
    return float(right), float(missed / right) if right > 0 else 0.0
