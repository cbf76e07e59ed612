"""Results of training: accuracy over steps, other sizes, other weight decays (003-own-5)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.seeds import curve
from allmlp.spec.exhibits import figure
from allmlp.studies.quadrature.errors import naive_bound
from allmlp.studies.quadrature.frequencies import FADING_SHARE

COLOUR = style.colour("constant-attention")


@figure("Accuracy and margin over training")
def accuracy(accuracy: pd.DataFrame) -> Figure:
    """Left: share of all p² pairs, held-out ones included, whose largest logit is the right sum. Right: the right logit
    minus the largest other one, mean over all pairs and at the worst pair; above 0 (black) every sum is right. Mean
    over seeds and 95 % t interval, at the steps whose weights were kept. The paper shows no such curve.
    """
    figure, ((left, right),) = style.canvas(columns=2, height=2.7)
    lines = [(left, "accuracy_1", "all pairs", "-")]
    lines += [(right, "mean_margin_nats", "mean", "-"), (right, "smallest_margin_nats", "worst pair", ":")]
    for axis, column, label, dashes in lines:
        looks: dict[str, Any] = {"linestyle": dashes, "marker": "o", "label": label}
        plots.band(axis, curve(accuracy, column), color=COLOUR, **looks)
    for axis in (left, right):
        axis.set_xscale("symlog", linthresh=10)
        axis.set(xlim=(0, None), xlabel="training steps (logarithmic)")
    left.set_ylabel("accuracy (share of pairs)")
    right.set_ylabel("margin (nats)")
    right.axhline(0, color="black", linewidth=0.8)
    right.legend()
    return figure


SIZES = {  # column -> title, format, the most that there can be
    "accuracy_1": ("accuracy (share of pairs)", "{:.3f}", 1.0),
    "frequencies": ("key frequencies", "{:.1f}", None),
    "angle_error_rad": ("|ψ - 2φ| (rad)", "{:.3f}", None),
    "abs_error_1": ("error of the sums (1)", "{:.3f}", None),
    "total_bound_1": ("the paper's bound (1)", "{:.2f}", None),
    "share_in_1": ("variance at its k (share)", "{:.3f}", 1.0),
}


@figure(
    "Other primes and widths",
    parts=["grid"],
    values={"fading": FADING_SHARE, "size": naive_bound(np.linspace(0, np.pi, 1000))},
)
def grid(scan: pd.DataFrame) -> Figure:
    """Mean over seeds at each p and each number of hidden neurons (equal steps and seeds, see config/quadrature).
    Accuracy over all p² pairs; frequencies with {fading:.0%} or more of the weight; |ψ - 2φ| over their neurons;
    largest error of the absolute part's sums, and the paper's bound on it, mean over frequencies. The integral's mean
    size is {size:.2f}; a bound above it says nothing. Shades start at 0: those of shares end at 1, the others at the
    largest value. Empty: no frequency.
    """
    figure, axes = style.canvas(columns=3, rows=2, height=2.3)
    for axis, (column, (title, shown, most)) in zip(axes.flat, SIZES.items(), strict=True):
        cells = scan.pivot_table(index="p", columns="d_mlp", values=column, aggfunc="mean")
        _cells(axis, cells, shown, most or cells.max().max())
        axis.set_title(title)
    for axis in axes[:, 0]:
        axis.set_ylabel("p")
    for axis in axes[-1]:
        axis.set_xlabel("hidden neurons")
    return figure


def _cells(axis: Axes, cells: pd.DataFrame, shown: str, most: float) -> None:
    """Cells (p, width) as shades between 0 and `most`, with their numbers."""
    axis.grid(False)
    axis.imshow(style.shades(cells), cmap="Greens", vmin=0, vmax=most, aspect="auto")
    for y, (_, line) in enumerate(cells.iterrows()):
        for x, value in enumerate(line):
            if pd.notna(value):
                ink = "white" if value > most / 2 else "black"
                axis.text(x, y, shown.format(value), ha="center", va="center", color=ink, fontsize=style.SMALLEST)
    axis.set_xticks(range(len(cells.columns)), [str(width) for width in cells.columns])
    axis.set_yticks(range(len(cells.index)), [str(p) for p in cells.index])


DECAYS = {
    "share_in_1": "variance of OV at one\nfrequency (share)",
    "angle_error_rad": "|ψ - 2φ| (rad)",
    "total_bound_1": "the paper's bound (1)",
}


@figure("Weight decay", claims=["003-own-5"], parts=["seeds", "sweep"], values={"fading": FADING_SHARE})
def weight_decay(scan: pd.DataFrame) -> Figure:
    """The same networks trained with other weight decays, all else equal. Small points: seeds, with lines between the
    same seeds. Large points: mean with 95 % t interval. All neurons of frequencies with {fading:.0%} or more of the
    weight.
    """
    decays = sorted(scan["weight_decay"].unique())
    figure, axes = style.canvas(columns=3, height=2.4)
    for axis, (column, label) in zip(axes.flat, DECAYS.items(), strict=True):
        cells = scan.pivot_table(index="seed", columns="weight_decay", values=column)[decays]
        axis.plot(range(len(decays)), cells.dropna().T, color=COLOUR, alpha=0.3, linewidth=0.8)
        for x, decay in enumerate(decays):
            interval = t_interval(cells[decay].dropna().to_numpy())
            axis.plot(np.full(len(cells), x), cells[decay], ".", color=COLOUR, alpha=0.6, markersize=4)
            plots.whisker(axis, x + 0.12, interval, fmt="o", color=COLOUR, markersize=5, capsize=3)
        axis.set_xticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        axis.set(xlim=(-0.5, len(decays) - 0.5), xlabel="weight decay", ylabel=label)
    return figure
