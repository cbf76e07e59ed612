"""Histogram of l1/l2 over time of first-layer neurons at the start, half and end of training (000-7)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import over_seeds

MEASURES = ["l1_l2"]
PAPER = "Figure 5"
CLAIMS = ["000-7"]
TITLE = "How first-layer neurons concentrate in time"
CAPTION = (
    "Share of first-layer neurons by the ratio of l1 to l2 norm over time (mean over the embedding), at the "
    "start, half and end of training from left to right (the paper's caption names the two ends in the other "
    "order, E000-4); bars are means over seeds, whiskers 95 % t intervals. Grey: the idealised unigram "
    "neuron at 1 and bag-of-words neuron at the square root of the context length, where the paper sees its "
    "two peaks."
)

BINS = 32
MOMENTS = ("start", "half", "end")


def histogram(rows: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Share of each run's neurons per bin: columns run, bin, share; every bin of every run."""
    counts = {
        run: np.histogram(of_run["ratio_1"].dropna(), edges)[0] / len(of_run) for run, of_run in rows.groupby("run")
    }
    table = pd.DataFrame(counts).rename_axis("bin").reset_index()
    return table.melt("bin", var_name="run", value_name="share")


def _panel(axes: Axes, rows: pd.DataFrame, edges: np.ndarray) -> None:
    bars = over_seeds(histogram(rows, edges), ["bin"], "share")
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    axes.bar(middles, bars["mean"], width=0.9 * width, color=style.colour("mlp"), label="mean over seeds")
    some = (bars["mean"] > 0) & bars["low"].notna()
    half = (bars["high"] - bars["mean"])[some]
    axes.errorbar(middles[some], bars["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)
    style.mark_paper(axes, [edges[0], edges[-1]], along="x", label="1 and √T: ideal unigram, bag-of-words")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Three histograms with common axes; tables["l1_l2"] with run and seed."""
    rows = tables["l1_l2"]
    bound = float(rows["bound_1"].max())
    edges = np.linspace(1, bound, BINS + 1)
    figure, axes = style.canvas(columns=3, height=2.7)
    for axis, moment in zip(axes[0], MOMENTS, strict=True):
        at = rows[rows["moment"] == moment]
        _panel(axis, at, edges)
        axis.set_title(f"{moment} (step {at['step'].max():,})")
        axis.set_xlim(0.9, bound + 0.1)
        axis.set_xlabel("ℓ1 / ℓ2 over time")
        if axis is not axes[0, 0]:
            axis.sharey(axes[0, 0])
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_ylabel("share of neurons")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
