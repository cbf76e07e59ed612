"""Where trained angles lie between a regular grid and chance, by the error of their sums (003-own-4)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["angle_controls"]
PAPER = ""  # the paper compares its sums with their integrals only
CLAIMS = ["003-own-4"]
TITLE = "Trained angles between a regular grid and chance"
CAPTION = (
    "Error of a key frequency's sum (absolute part, largest over t) against its number of neurons, for the angles that "
    "training found, with their own ψ (filled) and with ψ = 2φ, and for others with ψ = 2φ: the same widths at "
    "independent uniform angles, the same widths each at a random point of its own box, as many equal widths jittered, "
    "and equally spaced (an even n counts half). Mean of the draws, bars: 95 % of them. Keys of less than "
    f"{FADING_SHARE:.0%} of the weight, which are fading out, are left out. Both axes logarithmic."
)

KINDS = {  # of a control -> its label, marker
    "random": ("independent angles", "^"),
    "own_box": ("in its own box", "v"),
    "jittered": ("jittered grid", "D"),
    "regular": ("regular grid", "s"),
}
COLOURS = dict(zip(KINDS, ("#D55E00", "#E69F00", "#56B4E9", "#0072B2"), strict=True))
COLOUR = style.colour("constant-attention")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Errors over neurons; tables["angle_controls"] with run and seed."""
    rows = tables["angle_controls"]
    rows = rows[rows["weight_share_1"] >= FADING_SHARE]
    figure, axes = style.canvas(height=3.8, width=6.5)
    axis = axes[0, 0]
    for kind, (label, marker) in KINDS.items():
        mean, low, high = (rows[f"{kind}_{part}_1"] for part in ("error", "low", "high"))
        reach = np.maximum([mean - low, high - mean], 0)
        look = {"color": COLOURS[kind], "markersize": 4, "elinewidth": 0.6, "alpha": 0.8}
        axis.errorbar(rows["neurons"], mean, yerr=reach, fmt=marker, label=label, **look)
    axis.plot(rows["neurons"], rows["two_phi_error_1"], "o", color=COLOUR, fillstyle="none", label="trained, ψ = 2φ")
    axis.plot(rows["neurons"], rows["abs_error_1"], "o", color=COLOUR, label="trained")
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = [tick for tick in (2, 5, 10, 20, 50, 100, 200, 500) if _between(tick, rows["neurons"])]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("neurons of the key frequency")
    axis.set_ylabel("error of the sum (1)")
    axis.set_title(f"{rows['run'].nunique()} runs, {len(rows)} key frequencies")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _between(tick: float, values: pd.Series) -> bool:
    return 0.8 * values.min() <= tick <= 1.25 * values.max()
