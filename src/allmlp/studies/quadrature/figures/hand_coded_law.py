"""The hand-coded family's law: wobble against the number of angles, accuracy against p (003-own-3)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.hand_coded import FITTED, fitted_law

MEASURES = ["hand_coded_law"]
PAPER = ""  # Appendix D.1 proposes the family, and measures nothing of it
CLAIMS = ["003-own-3"]
TITLE = "When a hand-coded network adds without an error"
CAPTION = (
    "Networks of one frequency with n equally spaced angles of equal widths, no training. Left: how far the phase of "
    "their sum strays from the integral's (wobble; it does not depend on the offset). Line: power law by least squares "
    f"through odd n from {min(FITTED)} to {max(FITTED)}. Even n count half, for |cos| has half the period. Dotted: "
    "π/p, half the angle between two answers. Right: accuracy over all p² pairs at every prime p up to 400, mean over "
    "offsets of the grid; dashed: p = π/wobble, up to which every pair must be right. Of n not shown, those that "
    "are as n/2 (10, 14) and those that make no error up to 400."
)

MARKED = (31, 59, 113, 397)  # p whose limit is drawn
SHOWN = (3, 4, 5, 6, 7, 8, 12)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Wobble over n and accuracy over p; tables["hand_coded_law"]."""
    rows = tables["hand_coded_law"]
    figure, axes = style.canvas(columns=2, height=3.4)
    _wobble(axes[0, 0], rows)
    _accuracy(axes[0, 1], rows)
    return figure


def _wobble(axes: Axes, rows: pd.DataFrame) -> None:
    law, every = fitted_law(rows), rows.groupby("n")["wobble_rad"].mean()
    line = np.linspace(min(FITTED), max(FITTED))
    label = f"{law.constant:.2f} n^({law.exponent:.2f})"
    axes.plot(line, law.constant * line**law.exponent, color="black", linewidth=1.0, label=label)
    for rest, marker, said in ((1, "o", "odd n"), (0, "s", "even n")):
        some = every[every.index % 2 == rest]
        axes.plot(some.index, some, marker, color=style.NEUTRAL[1 - rest], markersize=5, label=said)
    for p in MARKED:
        axes.axhline(np.pi / p, color="black", linestyle=":", linewidth=0.8)
        axes.annotate(f"π/{p}", (every.index.min(), np.pi / p), ha="left", va="bottom", fontsize=7)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(every.index, [str(n) if n not in (9, 11, 13, 15) else "" for n in every.index])
    axes.minorticks_off()
    axes.set_xlabel("angles n (logarithmic)")
    axes.set_ylabel("wobble (rad, logarithmic)")
    axes.legend(loc="lower left")


def _accuracy(axes: Axes, rows: pd.DataFrame) -> None:
    for position, n in enumerate(n for n in SHOWN if n in set(rows["n"])):
        of_n, colour = rows[rows["n"] == n], style.NEUTRAL[position]
        mean = of_n.groupby("p")["accuracy_1"].mean()
        axes.plot(mean.index, mean, ".", color=colour, markersize=3, label=f"n = {n}")
        threshold = np.pi / of_n["wobble_rad"].mean()
        if threshold >= of_n["p"].min():
            axes.axvline(threshold, color=colour, linestyle="--", linewidth=1.0)
    axes.set_ylim(0, 1.05)
    axes.set_xscale("log")
    ticks = (3, 10, 30, 100, 400)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("p (logarithmic)")
    axes.set_ylabel("accuracy (share of pairs)")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3)
