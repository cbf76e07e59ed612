"""Hand-coded angles, and trained ones compared with a grid and with chance (003-own-3, 003-own-4)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.models.angles import GRIDS
from allmlp.report import plots, style
from allmlp.spec.exhibits import figure
from allmlp.studies.quadrature.frequencies import FADING_SHARE
from allmlp.studies.quadrature.hand_coded import FITTED, fitted_law

COLOUR = style.colour("constant-attention")

MARKED = (31, 59, 113, 397)  # p with a drawn limit
SHOWN = (3, 4, 5, 6, 7, 8, 12)


@figure(
    "When a hand-coded network adds without an error",
    claims=["003-own-3"],
    values={"first": min(FITTED), "last": max(FITTED)},
)
def hand_coded_law(hand_coded_law: pd.DataFrame) -> Figure:
    """Untrained networks of one frequency with n equally spaced angles of equal widths. Left: the wobble, the largest
    distance of their sum's phase from the integral's; it does not depend on the offset. Line: power law by least
    squares through odd n from {first} to {last}. Even n count half, for |cos| has half the period. Dotted: π/p, half
    the angle between two answers. Right: accuracy over all p² pairs at every prime p up to 400, mean over offsets of
    the grid; dashed: p = π/wobble, up to which every pair must be right. Not shown: n equal to n/2 in all numbers (10,
    14) and n without an error up to 400.
    """
    figure, ((left, right),) = style.canvas(columns=2, height=3.4)
    _wobble(left, hand_coded_law)
    _accuracy(right, hand_coded_law)
    return figure


def _wobble(axes: Axes, rows: pd.DataFrame) -> None:
    law, every = fitted_law(rows), rows.groupby("n")["wobble_rad"].mean()
    line = np.linspace(min(FITTED), max(FITTED))
    name = f"{law.constant:.2f} n^({law.exponent:.2f})"
    axes.plot(line, law.constant * line**law.exponent, color="black", linewidth=1.0, label=name)
    for rest, marker, label in ((1, "o", "odd n"), (0, "s", "even n")):
        some = every[every.index % 2 == rest]
        axes.plot(some.index, some, marker, color=style.NEUTRAL[1 - rest], markersize=5, label=label)
    for p in MARKED:
        axes.axhline(np.pi / p, color="black", linestyle=":", linewidth=0.8)
        axes.annotate(f"π/{p}", (every.index.min(), np.pi / p), ha="left", va="bottom", fontsize=style.SMALLEST)
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(every.index, [str(n) if n not in (9, 11, 13, 15) else "" for n in every.index])
    axes.minorticks_off()
    axes.set(xlabel="angles n (logarithmic)", ylabel="wobble (rad, logarithmic)")
    axes.legend(loc="lower left")


def _accuracy(axes: Axes, rows: pd.DataFrame) -> None:
    for position, n in enumerate(n for n in SHOWN if n in set(rows["n"])):
        of_n, colour = rows[rows["n"] == n], style.NEUTRAL[position]
        mean = of_n.groupby("p")["accuracy_1"].mean()
        axes.plot(mean.index, mean, ".", color=colour, markersize=3, label=f"n = {n}")
        threshold = np.pi / of_n["wobble_rad"].mean()
        if threshold >= of_n["p"].min():
            axes.axvline(threshold, color=colour, linestyle="--", linewidth=1.0)
    axes.set(ylim=(0, 1.05), xscale="log")
    ticks = (3, 10, 30, 100, 400)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel="p (logarithmic)", ylabel="accuracy (share of pairs)")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3)


FLOOR = 2e-5  # position of "no error": below one pair of 113^2
COLOURS = dict(zip(GRIDS, style.NEUTRAL, strict=False))


@figure("Hand-coded networks: grid, jittered, random angles")
def hand_coded_grids(hand_coded_grids: pd.DataFrame) -> Figure:
    """Share of all p² pairs that untrained networks answer wrong: frequencies with n angles each, equally spaced, at
    random points of n equal boxes (jittered), or anywhere. Points: draws of frequencies, offsets and angles; lines:
    their mean. On the lower edge: no error. A wrong answer must win in the sum over all frequencies.
    """
    rows = hand_coded_grids
    counts = sorted(rows["n"].unique())
    figure, axes = style.canvas(columns=len(counts), height=2.9)
    for axis, n in zip(axes[0], counts, strict=True):
        _draw_errors(axis, rows[rows["n"] == n])
        axis.set(title=f"n = {n}, p = {rows['p'].iloc[0]}", xlabel="frequencies")
    axes[0, 0].set_ylabel("wrong (share of pairs)")
    plots.add_legend(figure, axes[0, :1], ncols=len(GRIDS))
    return figure


def _draw_errors(axes: Axes, rows: pd.DataFrame) -> None:
    for position, grid in enumerate(GRIDS):
        own, shift = rows[rows["grid"] == grid], 0.12 * (position - 1)
        wrong = (1 - own["accuracy_1"]).clip(lower=FLOOR)
        axes.plot(own["keys"] + shift, wrong, ".", color=COLOURS[grid], alpha=0.5, markersize=4)
        mean = (1 - own["accuracy_1"]).groupby(own["keys"]).mean().clip(lower=FLOOR)
        axes.plot(mean.index + shift, mean, color=COLOURS[grid], label=grid)
    axes.set(yscale="log", ylim=(0.7 * FLOOR, 1.5))
    ticks = (FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1)
    axes.set_yticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
    axes.minorticks_off()
    axes.set_xticks(sorted(rows["keys"].unique()))


KINDS = {  # of a control -> its label, marker, colour
    "random": ("independent angles", "^", "#D55E00"),
    "own_box": ("in its own box", "v", "#E69F00"),
    "jittered": ("jittered grid", "D", "#56B4E9"),
    "regular": ("regular grid", "s", "#0072B2"),
}


@figure("Trained angles between a regular grid and chance", claims=["003-own-4"], values={"fading": FADING_SHARE})
def angle_controls(angle_controls: pd.DataFrame) -> Figure:
    """Error of a key frequency's sum (absolute part, largest over t) against its number of neurons: for the trained
    angles with their own ψ (filled) and with ψ = 2φ, and for other angles with ψ = 2φ. These are the same widths at
    independent uniform angles, the same widths each at a random point of its own box, as many equal widths jittered,
    and equally spaced (an even n counts half). Mean of the draws, bars: 95 % of them. Keys of less than {fading:.0%} of
    the weight, which are fading out, are left out. Both axes logarithmic.
    """
    rows = angle_controls[angle_controls["weight_share_1"] >= FADING_SHARE]
    figure, ((axis,),) = style.canvas(height=3.8, width=6.5)
    for kind, (label, marker, colour) in KINDS.items():
        mean, low, high = (rows[f"{kind}_{part}_1"] for part in ("error", "low", "high"))
        reach = np.maximum([mean - low, high - mean], 0)
        look: dict[str, Any] = {"color": colour, "markersize": 4, "elinewidth": 0.6, "alpha": 0.8}
        axis.errorbar(rows["neurons"], mean, yerr=reach, fmt=marker, label=label, **look)
    axis.plot(rows["neurons"], rows["two_phi_error_1"], "o", color=COLOUR, fillstyle="none", label="trained, ψ = 2φ")
    axis.plot(rows["neurons"], rows["abs_error_1"], "o", color=COLOUR, label="trained")
    axis.set(xscale="log", yscale="log")
    low, high = 0.8 * rows["neurons"].min(), 1.25 * rows["neurons"].max()
    ticks = [tick for tick in (2, 5, 10, 20, 50, 100, 200, 500) if low <= tick <= high]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set(
        xlabel="neurons of the key frequency",
        ylabel="error of the sum (1)",
        title=f"{rows['run'].nunique()} runs, {len(rows)} key frequencies",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
