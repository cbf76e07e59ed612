"""Equation 1 takes |cos(k(x-y)/2)| out of the ReLU and drops its sign: the size of that change (E003-4)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature.errors import FACTOR, PARTS, Part, trained_sum
from allmlp.studies.quadrature.keys import Key, of_run

RECIPE = 1

COLUMNS = {
    "frequency": exact("key frequency k"),
    "weight_share_1": numeric("its neurons' share of the sum of all r", rtol=5e-2, atol=5e-3),
    "part": exact("abs, identity: |u|/2 and u/2 of ReLU(u); relu: all of it"),
    "rms_nats": numeric("root mean square of its single-frequency sum over all x, y, z", rtol=0.05, atol=0.05),
    "difference_1": numeric("root mean square of what leaving the sign out changes, over rms_nats", rtol=0, atol=0.1),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency and part, of the last weights. UserError without these circuits."""
    rows = [(key.k, key.share, part, *_sizes(key, part)) for key in of_run(trained) for part in PARTS]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sizes(key: Key, part: Part) -> tuple[float, float]:
    """rms_nats and difference_1 of one frequency.

    With D = cos(k(x - y)/2), theta = k(x + y)/2, g the part and T(theta) = sum_i r_i g(cos(theta + phi_i))
    exp(i psi_i), its sum is Re(|D| T(theta') exp(ikz)), theta' = theta, or theta + pi where D < 0. The paper
    has T(theta) everywhere. Over z the mean square of Re(Q exp(ikz)) is |Q|^2 / 2.
    """
    p, (x, y) = key.p, np.indices((key.p, key.p))
    D = np.cos(np.pi * key.k * (x - y) / p)
    step = (key.k * (x + y)) % (2 * p)  # theta in steps of pi / p
    T = FACTOR[part] * trained_sum(part, np.pi * np.arange(2 * p) / p, key.rule._replace(width=key.weight))
    inside, outside = T[(step + np.where(D < 0, p, 0)) % (2 * p)], T[step]
    right, missed = (np.sqrt(np.mean(np.abs(D * Q) ** 2) / 2) for Q in (inside, outside - inside))
    return float(right), float(missed / right) if right > 0 else 0.0
