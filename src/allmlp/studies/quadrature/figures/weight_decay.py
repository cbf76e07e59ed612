"""The setting that the paper does not state: what weight decay does to the structure (003-own-5)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.statistics import t_interval
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["scan"]
PAPER = ""  # the paper does not state its weight decay
CLAIMS = ["003-own-5"]
TITLE = "Weight decay"
CAPTION = (
    "The same networks trained with other weight decays, all else equal: a small point per seed, lines between the "
    "same seeds, large points the mean with its 95 % t interval. All neurons of frequencies that carry "
    f"{FADING_SHARE:.0%} or more of the weight."
)

COLOUR = style.colour("constant-attention")
PANELS = {
    "share_in_1": "variance of OV at one\nfrequency (share)",
    "angle_error_rad": "|ψ - 2φ| (rad)",
    "total_bound_1": "the paper's bound (1)",
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number; tables["scan"] with the labels part and weight_decay."""
    rows = tables["scan"]
    rows = rows[rows["part"] != "grid"]
    decays = sorted(rows["weight_decay"].unique())
    figure, axes = style.canvas(columns=3, height=2.4)
    for axis, (column, label) in zip(axes.flat, PANELS.items(), strict=True):
        cells = rows.pivot_table(index="seed", columns="weight_decay", values=column)[decays]
        axis.plot(range(len(decays)), cells.dropna().T, color=COLOUR, alpha=0.3, linewidth=0.8)
        for x, decay in enumerate(decays):
            interval = t_interval(cells[decay].dropna().to_numpy())
            half = [[interval.half_width]] * 2 if np.isfinite(interval.half_width) else None
            axis.plot(np.full(len(cells), x), cells[decay], ".", color=COLOUR, alpha=0.6, markersize=4)
            axis.errorbar(x + 0.12, interval.mean, yerr=half, fmt="o", color=COLOUR, markersize=5, capsize=3)
        axis.set_xticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        axis.set_xlim(-0.5, len(decays) - 0.5)
        axis.set_xlabel("weight decay")
        axis.set_ylabel(label)
    return figure
