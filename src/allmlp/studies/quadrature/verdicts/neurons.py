"""Rules on single neurons: one frequency, psi = 2 phi, and what weight decay does to it (003-1, 003-2, 003-own-5)."""

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.quadrature.verdicts.common import by_seed
from allmlp.studies.rules import NotPlannedError, below


def single_frequency(evidence: Evidence) -> Finding:
    """003-1: neurons of key frequencies have one frequency in, one out, and it is the same."""
    rows, margin = evidence.table("neurons"), evidence.margin
    clean = {
        "(a) one frequency in": rows["share_in_1"] >= margin["variance_share_1"],
        "(b) one frequency out": rows["share_out_1"] >= margin["variance_share_1"],
        "(c) the same in and out": rows["frequency"] == rows["frequency_out"],
    }
    parts = {
        name: better(_of_keys(rows, holds), margin["neuron_share_1"], unit="of neurons")
        for name, holds in clean.items()
    }
    return whole(parts)


def phase_relation(evidence: Evidence) -> Finding:
    """003-2: psi is twice phi, and with which sign (E003-2)."""
    rows, limit = evidence.table("neurons"), evidence.margin["angle_rad"]
    plus, minus = (rows[f"angle_error_{sign}_rad"].abs() for sign in ("plus", "minus"))
    parts = {
        "(a) psi = +2 phi, as the definitions need": below(_of_keys(rows, plus), limit, "rad"),
        "(b) psi = -2 phi, as printed": below(_of_keys(rows, minus), limit, "rad"),
    }
    return whole(parts)


def _of_keys(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Mean of a per-neuron value over the neurons of key frequencies, one per seed."""
    keys = rows["is_key"].astype(bool)
    return by_seed(rows, values[keys].astype(float).groupby(rows.loc[keys, "seed"]).mean())


def weight_decay(evidence: Evidence) -> Finding:
    """003-own-5: |psi - 2 phi| at weight decay 1 minus at 2, paired by seed."""
    rows = evidence.table("scan")
    rows = rows[rows["part"] != "grid"]
    one, two = (rows[rows["weight_decay"] == decay].set_index("seed")["angle_error_rad"] for decay in (1.0, 2.0))
    paired = sorted(set(one.index) & set(two.index))
    if not paired:
        raise NotPlannedError("no sweep of weight decay")
    return better((one[paired] - two[paired]).to_numpy(), evidence.margin["angle_rad"], unit="rad")
