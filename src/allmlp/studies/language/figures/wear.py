"""Classes against e-foldings of weight decay and the size of the initial embeddings (own claim)."""

from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval
from allmlp.studies.language.parts import along
from allmlp.studies.language.verdicts.wear import of_deciding
from allmlp.studies.seeds import at_end, curve

PANELS = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "window_share_median_1": "energy explained",
}
MARKERS = "osD^v"


@figure("Is the structure the data's or the optimiser's?", claims=["000-own-5"], parts=["variation"])
def wear(neuron_classes: pd.DataFrame, concentration: pd.DataFrame) -> Figure:
    """The grid of weight decays and of initial embeddings, all else equal, against the e-foldings by which weight decay
    has faded the first layer's random start: share of n-gram neurons, share of bag-of-words neurons (both by the
    reading that decides), median over neurons of the energy that the last three rows and one constant explain. Thin
    lines are trainings (mean over seeds, from left to right), each with its decay; markers their ends, with 95 % t
    intervals. Colours: standard deviation of the initial embeddings.
    """
    numbers = concentration[["run", "step", "window_share_median_1"]]
    rows = along(of_deciding(neuron_classes).merge(numbers, on=["run", "step"]), "weight_decay", "embedding_std")
    stds, decays = sorted(rows["embedding_std"].unique()), sorted(rows["weight_decay"].unique())
    colours, markers = dict(zip(stds, style.NEUTRAL, strict=False)), dict(zip(decays, cycle(MARKERS), strict=False))
    figure, axes = style.canvas(columns=len(PANELS), height=2.9)
    for axis, (value, title) in zip(axes[0], PANELS.items(), strict=True):
        for (std, decay), cell in rows.groupby(["embedding_std", "weight_decay"]):
            _cell(axis, cell, value, colours[std], markers[decay])
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_xlim(left=0)
        axis.set_ylim(-0.02, 1.02)
        axis.set_xlabel("e-foldings of weight decay")
        axis.set_title(title)
    axes[0, 0].set_ylabel("share")
    for std, colour in colours.items():
        axes[0, 0].plot([], [], color=colour, label=f"embeddings of standard deviation {std:g}")
    for decay, marker in markers.items():
        axes[0, 0].plot([], [], marker, color="black", label=f"weight decay {decay:g}")
    plots.legend_below(figure, [axes[0, 0]], ncols=max(2, len(stds)))
    return figure


def _cell(axes: Axes, rows: pd.DataFrame, value: str, colour: str, marker: str) -> None:
    """One cell of the grid: the way, and the end."""
    way = curve(rows, value).merge(rows.groupby("step", as_index=False)["wear_1"].mean(), on="step")
    way = way.assign(low=way["mean"], high=way["mean"])
    plots.band(axes, way, "wear_1", color=colour, linewidth=0.8, alpha=0.6)
    looks: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 6, "capsize": 2, "zorder": 3}
    plots.whisker(axes, way["wear_1"].iloc[-1], t_interval(at_end(rows)[value].to_numpy()), **looks)
