"""What figures on neurons share: a colour for each class, histograms of a ratio, axes without ticks."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.language.classification import CLASSES, HYBRID, OTHER
from allmlp.studies.seeds import over_seeds

# Colours that no architecture of this study has.
COLOURS = dict(zip(CLASSES, (*(style.NEUTRAL[i] for i in (0, 1, 4, 2)), "#555555"), strict=True))
LINES = {name: {HYBRID: "--", OTHER: ":"}.get(name, "-") for name in CLASSES}
BINS = 32
MOMENTS = ("start", "half", "end")


def histogram(rows: pd.DataFrame, column: str, edges: np.ndarray) -> pd.DataFrame:
    """Share of each run's neurons per bin: columns run, bin, share; every bin of every run."""
    counts = {run: np.histogram(of_run[column].dropna(), edges)[0] / len(of_run) for run, of_run in rows.groupby("run")}
    table = pd.DataFrame(counts).rename_axis("bin").reset_index()
    return table.melt("bin", var_name="run", value_name="share")


def _bars(axes: Axes, rows: pd.DataFrame, column: str, edges: np.ndarray) -> None:
    bars = over_seeds(histogram(rows, column, edges), ["bin"], "share")
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    axes.bar(middles, bars["mean"], width=0.9 * width, color=style.colour("mlp"), label="mean over seeds")
    some = (bars["mean"] > 0) & bars["low"].notna()
    half = (bars["high"] - bars["mean"])[some]
    axes.errorbar(middles[some], bars["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)


def ratio_histograms(rows: pd.DataFrame, column: str, xlabel: str, ends: str) -> Figure:
    """Histograms of a ratio in [1, bound_1] at start, half and end, its `ends` marked."""
    bound = float(rows["bound_1"].max())
    edges = np.linspace(1, bound, BINS + 1)
    figure, axes = style.canvas(columns=len(MOMENTS), height=2.7)
    for axis, moment in zip(axes[0], MOMENTS, strict=True):
        at = rows[rows["moment"] == moment]
        _bars(axis, at, column, edges)
        style.mark_paper(axis, [edges[0], edges[-1]], along="x", label=ends)
        axis.set_title(f"{moment} (step {at['step'].max():,})")
        axis.set_xlim(0.9, bound + 0.1)
        axis.set_xlabel(xlabel)
        if axis is not axes[0, 0]:
            axis.sharey(axes[0, 0])
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_ylabel("share of neurons")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def line(axes: Axes, points: pd.DataFrame, by: str, colour: str, **looks: object) -> None:
    """Mean and 95 % t interval of `over_seeds` along `by`."""
    axes.fill_between(points[by], points["low"], points["high"], color=colour, alpha=0.2, linewidth=0)
    axes.plot(points[by], points["mean"], color=colour, markersize=3, **looks)  # type: ignore[arg-type]


def bare(axes: Axes) -> None:
    """No grid and no ticks: for pictures."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
