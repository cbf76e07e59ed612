"""Each seed's sums beside their integrals: rectangles, bound, proportionality (003-4, 003-7, 003-12)."""

import math

import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["sums"]
PAPER = "Figures 3 and 4, Section 2"
CLAIMS = ["003-4", "003-7", "003-12"]
TITLE = "The sums over one frequency's neurons, per seed"
CAPTION = (
    "Over a seed's key frequencies: mean of the median distance from a phase to the centre of its rectangle (best "
    "shift, in mean widths); largest true error minus bound, over all sums x + y and a grid of real angles, and what "
    "it cannot exceed between them; and, without frequencies of less than "
    f"{FADING_SHARE:.0%} of the weight, smallest R2 of G on cos kt and of H on -sin kt, no intercept. -sin, where the "
    "paper has sin, is what its definitions give with ψ = +2φ (E003-2). Last row: mean over seeds with its 95 % t "
    "interval. The paper gives no numbers."
)

COLUMNS = ["seed", "keys", "centre_distance_widths", "excess_1", "ceiling_1", "cosine_r2_1", "sine_r2_1"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS as text, one row per seed and their mean."""
    rows = tables["sums"]
    of_seed, lasting = rows.groupby("seed"), rows[rows["weight_share_1"] >= FADING_SHARE].groupby("seed")
    found = pd.DataFrame(
        {
            "keys": of_seed.size(),
            "centre_distance_widths": of_seed["centre_distance_widths"].mean(),
            **{name: of_seed[name].max() for name in ("excess_1", "ceiling_1")},
            **{name: lasting[name].min() for name in ("cosine_r2_1", "sine_r2_1")},
        }
    ).reset_index()
    mean = {"seed": "mean"}
    for name in COLUMNS[1:]:
        interval = t_interval(found[name].to_numpy(dtype=float))
        bounds = f" [{interval.low:.4g}, {interval.high:.4g}]" if math.isfinite(interval.low) else ""
        mean[name] = f"{interval.mean:.4g}{bounds}"
    shown = [{name: f"{value:.4g}" for name, value in row.items()} for row in found.to_dict("records")]
    return pd.DataFrame([*shown, mean], columns=COLUMNS)
