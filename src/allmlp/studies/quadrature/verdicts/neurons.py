"""Rules on neurons and their sums: frequency, phases, rectangles, weight decay (003-1, -2, -4, -7, -12, -own-5)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_above, judge_below, mark_corrected
from allmlp.judging.statistics import Finding, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.quadrature.verdicts.common import (
    heavy_frequencies,
    judge_accurate,
    judge_every_seed,
    values_by_seed,
)


def single_frequency(evidence: Evidence) -> Finding:
    """003-1: neurons of key frequencies have one frequency in, one out, and it is the same."""
    rows, margin = evidence.table("neurons"), evidence.margin
    clean = {
        "(a) one frequency in": rows["share_in_1"] >= margin["variance_share_1"],
        "(b) one frequency out": rows["share_out_1"] >= margin["variance_share_1"],
        "(c) the same in and out": rows["frequency"] == rows["frequency_out"],
    }
    parts = {
        name: judge_above(_key_means(rows, holds), margin["neuron_share_1"], unit="of neurons")
        for name, holds in clean.items()
    }
    return require_all_parts(parts)


def phase_relation(evidence: Evidence) -> Finding:
    """003-2: psi is twice phi, and with which sign (E003-2)."""
    rows, limit = evidence.table("neurons"), evidence.margin["angle_rad"]
    plus, minus = (rows[f"angle_error_{sign}_rad"].abs() for sign in ("plus", "minus"))
    parts = {
        "(a) psi = +2 phi, as the definitions need": judge_below(_key_means(rows, plus), limit, "rad"),
        "(b) psi = -2 phi, as printed": mark_corrected(judge_below(_key_means(rows, minus), limit, "rad")),
    }
    return require_all_parts(parts)


def _key_means(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Mean of a per-neuron value over the neurons of key frequencies, one per seed."""
    keys = rows["is_key"].astype(bool)
    return values_by_seed(rows, values[keys].astype(float).groupby(rows.loc[keys, "seed"]).mean())


def weight_decay(evidence: Evidence) -> Finding:
    """003-own-5: |psi - 2 phi| at weight decay 1 minus at 2, paired by seed."""
    rows = evidence.table("scan")
    rows = rows[rows["part"] != "grid"]
    one, two = (rows[rows["weight_decay"] == decay].set_index("seed")["angle_error_rad"] for decay in (1.0, 2.0))
    paired = sorted(set(one.index) & set(two.index))
    if not paired:
        raise NotPlannedError("no sweep of weight decay")
    return judge_better((one[paired] - two[paired]).to_numpy(), evidence.margin["angle_rad"], unit="rad")


def rectangles(evidence: Evidence) -> Finding:
    """003-4: widths fill the period, and rectangles lie at their neurons' phases."""
    rows, margin = evidence.table("sums"), evidence.margin
    missed = values_by_seed(rows, (rows["width_sum_rad"] - 2 * np.pi).abs().groupby(rows["seed"]).max())
    distance = values_by_seed(rows, rows.groupby("seed")["centre_distance_widths"].mean())
    parts = {
        "(a) widths fill the period": judge_every_seed(
            missed, margin["width_sum_rad"], "largest |sum of widths - 2 pi|"
        ),
        "(b) near their phases": judge_below(distance, margin["distance_widths"], "widths"),
    }
    return require_all_parts(parts)


def covered(evidence: Evidence) -> Finding:
    """003-7: at no angle tried is the error above its bound."""
    rows = evidence.table("sums")
    excess = values_by_seed(rows, rows.groupby("seed")["excess_1"].max())
    found = judge_every_seed(excess, evidence.margin["excess_1"], "largest error minus bound")
    ceiling = f"{found.text}; between the angles of the grid it cannot exceed {rows['ceiling_1'].max():.3g}"
    return replace(found, text=ceiling)


@judge_accurate("sums")
def proportional(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-12: G_k follows +cos(kt), and H_k -sin(kt) as psi = +2 phi makes it (E003-2)."""
    least = heavy_frequencies(rows, evidence.margin).groupby("seed")[["cosine_r2_1", "sine_r2_1"]].min().min(axis=1)
    return {"least R2 of a seed": judge_above(values_by_seed(rows, least), evidence.margin["r2_1"])}
