"""Hand-coded networks of several frequencies: what the placing of the angles is worth (Appendix D.1)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.models.angles import GRIDS
from allmlp.report import style

MEASURES = ["hand_coded_grids"]
PAPER = ""  # the paper builds no such network
CLAIMS: list[str] = []
TITLE = "Hand-coded networks: grid, jittered, random angles"
CAPTION = (
    "Share of all p² pairs with a wrong answer, of networks that were not trained: frequencies with n angles each, "
    "equally spaced, at random points of n equal boxes (jittered), or anywhere. Points: draws of frequencies, offsets "
    "and angles; lines: their mean. On the lower edge: no error. A wrong answer must win at all frequencies together."
)

FLOOR = 2e-5  # where "no error" is drawn: below one pair of 113^2
COLOURS = dict(zip(GRIDS, style.NEUTRAL, strict=False))


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number of angles; tables["hand_coded_grids"]."""
    rows = tables["hand_coded_grids"]
    counts = sorted(rows["n"].unique())
    figure, axes = style.canvas(columns=len(counts), height=2.9)
    for axis, n in zip(axes[0], counts, strict=True):
        _panel(axis, rows[rows["n"] == n])
        axis.set_title(f"n = {n}, p = {rows['p'].iloc[0]}")
        axis.set_xlabel("frequencies")
    axes[0, 0].set_ylabel("wrong (share of pairs)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(GRIDS))
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for position, grid in enumerate(GRIDS):
        own, shift = rows[rows["grid"] == grid], 0.12 * (position - 1)
        wrong = (1 - own["accuracy_1"]).clip(lower=FLOOR)
        axes.plot(own["keys"] + shift, wrong, ".", color=COLOURS[grid], alpha=0.5, markersize=4)
        mean = (1 - own["accuracy_1"]).groupby(own["keys"]).mean().clip(lower=FLOOR)
        axes.plot(mean.index + shift, mean, color=COLOURS[grid], label=grid)
    axes.set_yscale("log")
    axes.set_ylim(0.7 * FLOOR, 1.5)
    ticks = (FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1)
    axes.set_yticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
    axes.minorticks_off()
    axes.set_xticks(sorted(rows["keys"].unique()))
