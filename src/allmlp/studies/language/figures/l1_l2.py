"""Histograms of l1/l2 of first-layer neurons over time and over frequencies, over training (000-7, 000-16)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.drawing import MOMENTS
from allmlp.studies.seeds import histogram

BINS = 32


@figure("How first-layer neurons concentrate in time", where="Figure 5", claims=["000-7"], parts=["neurons"])
def l1_l2(l1_l2: pd.DataFrame) -> Figure:
    """Share of first-layer neurons by the ratio of l1 to l2 norm over time (mean over the embedding), at the start,
    half and end of training from left to right (the paper's caption names the two ends in the other order, E000-4);
    bars are means over seeds, whiskers 95 % t intervals. Grey: the idealised unigram neuron at 1 and bag-of-words
    neuron at the square root of the context length, where the paper sees its two peaks.
    """
    return _histograms(l1_l2, "ratio_1", "ℓ1 / ℓ2 over time", "1 and √T: ideal unigram, bag-of-words")


@figure("How first-layer neurons concentrate in frequency", where="Figure 15", claims=["000-16"], parts=["neurons"])
def l1_l2_frequencies(l1_l2: pd.DataFrame) -> Figure:
    """Share of first-layer neurons by the ratio of l1 to l2 norm over the frequencies of the orthonormal DCT-II (mean
    over the embedding), at the start, half and end of training from left to right (the paper's caption names the two
    ends in the other order, E000-4); bars are means over seeds, whiskers 95 % t intervals. Grey: an ideal bag-of-words
    neuron, which has frequency 0 only, at 1, and equal weight on all frequencies at the square root of the context
    length. The paper sees n-gram neurons on the right and bag-of-words neurons on the left, the inverse of the picture
    over time.
    """
    ends = "1 and √T: ideal bag-of-words, all frequencies alike"
    return _histograms(l1_l2, "frequency_ratio_1", "ℓ1 / ℓ2 over frequencies", ends)


def _histograms(rows: pd.DataFrame, column: str, xlabel: str, ends: str) -> Figure:
    """Histograms of a ratio in [1, bound_1] at start, half and end, its `ends` marked."""
    bound = float(rows["bound_1"].max())
    edges = np.linspace(1, bound, BINS + 1)
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    figure, axes = style.canvas(columns=len(MOMENTS), height=2.7)
    for axis, moment in zip(axes[0], MOMENTS, strict=True):
        at = rows[rows["moment"] == moment]
        bins = histogram(at, column, edges)
        axis.bar(middles, bins["mean"], width=0.9 * width, color=style.colour("mlp"), label="mean over seeds")
        some = (bins["mean"] > 0) & bins["low"].notna()
        half = (bins["high"] - bins["mean"])[some]
        axis.errorbar(middles[some], bins["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)
        style.mark_paper(axis, [edges[0], edges[-1]], along="x", label=ends)
        axis.set_title(f"{moment} (step {at['step'].max():,})")
        axis.set_xlim(0.9, bound + 0.1)
        axis.set_xlabel(xlabel)
        if axis is not axes[0, 0]:
            axis.sharey(axes[0, 0])
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_ylabel("share of neurons")
    plots.legend_below(figure, [axes[0, 0]], ncols=2)
    return figure
