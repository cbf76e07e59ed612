"""Rules on single sums: rectangles near their phases, never above the bound, cos and sin (003-4, 003-7, 003-12)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.quadrature.verdicts.common import by_seed, heavy, in_every_seed, on_alike
from allmlp.studies.rules import below


def rectangles(evidence: Evidence) -> Finding:
    """003-4: widths fill the period, and rectangles lie at their neurons' phases."""
    rows, margin = evidence.table("sums"), evidence.margin
    missed = by_seed(rows, (rows["width_sum_rad"] - 2 * np.pi).abs().groupby(rows["seed"]).max())
    distance = by_seed(rows, rows.groupby("seed")["centre_distance_widths"].mean())
    parts = {
        "(a) widths fill the period": in_every_seed(missed, margin["width_sum_rad"], "largest |sum of widths - 2 pi|"),
        "(b) near their phases": below(distance, margin["distance_widths"], "widths"),
    }
    return whole(parts)


def covered(evidence: Evidence) -> Finding:
    """003-7: at no angle tried is the error above its bound."""
    rows = evidence.table("sums")
    excess = by_seed(rows, rows.groupby("seed")["excess_1"].max())
    found = in_every_seed(excess, evidence.margin["excess_1"], "largest error minus bound")
    ceiling = f"{found.text}; between the angles of the grid it cannot exceed {rows['ceiling_1'].max():.3g}"
    return replace(found, text=ceiling)


@on_alike("sums")
def proportional(rows: pd.DataFrame, evidence: Evidence) -> dict[str, Finding]:
    """003-12: G_k follows +cos(kt), and H_k -sin(kt) as psi = +2 phi makes it (E003-2)."""
    least = heavy(rows, evidence.margin).groupby("seed")[["cosine_r2_1", "sine_r2_1"]].min().min(axis=1)
    return {"least R2 of a seed": better(by_seed(rows, least), evidence.margin["r2_1"])}
