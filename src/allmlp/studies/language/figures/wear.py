"""Classes against e-foldings of weight decay and the size of the initial embeddings (own claim)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.language.drawing import line
from allmlp.studies.language.parts import along, at_end
from allmlp.studies.language.verdicts.wear import of_deciding
from allmlp.studies.seeds import curve, over_seeds

MEASURES = ["neuron_classes", "concentration"]
PARTS = ["variation"]
PAPER = ""  # the paper trains with one weight decay and one initialisation
CLAIMS = ["000-own-5"]
TITLE = "Is the structure the data's or the optimiser's?"
CAPTION = (
    "The grid of weight decays and of initial embeddings, all else equal, against the e-foldings by which weight decay "
    "has faded the first layer's random start: share of n-gram neurons, share of bag-of-words neurons (both by the "
    "reading that decides), median over neurons of the energy that the last three rows and one constant explain. "
    "Thin lines are trainings (mean over seeds, from left to right), each with its decay; markers their ends, with "
    "95 % t intervals. Colours: standard deviation of the initial embeddings."
)

PANELS = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "window_share_median_1": "energy explained",
}
MARKERS = "osD^v"


def _cell(axes: Axes, rows: pd.DataFrame, value: str, colour: str, marker: str) -> None:
    """One cell of the grid: the way, and the end."""
    way = curve(rows, value).merge(rows.groupby("step", as_index=False)["wear_1"].mean(), on="step")
    line(axes, way.assign(low=way["mean"], high=way["mean"]), "wear_1", colour, linewidth=0.8, alpha=0.6)
    end = over_seeds(at_end(rows).assign(cell=0), ["cell"], value).iloc[0]
    half = [[end["mean"] - end["low"]], [end["high"] - end["mean"]]]
    axes.errorbar(
        way["wear_1"].iloc[-1], end["mean"], yerr=half, fmt=marker, color=colour, markersize=6, capsize=2, zorder=3
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number; the two tables with the labels of variations."""
    numbers = tables["concentration"][["run", "step", "window_share_median_1"]]
    rows = along(
        of_deciding(tables["neuron_classes"]).merge(numbers, on=["run", "step"]), "weight_decay", "embedding_std"
    )
    stds, decays = sorted(rows["embedding_std"].unique()), sorted(rows["weight_decay"].unique())
    figure, axes = style.canvas(columns=len(PANELS), height=2.9)
    for axis, (value, title) in zip(axes[0], PANELS.items(), strict=True):
        for position, std in enumerate(stds):
            for number, decay in enumerate(decays):
                cell = rows[(rows["embedding_std"] == std) & (rows["weight_decay"] == decay)]
                if len(cell):
                    _cell(axis, cell, value, style.NEUTRAL[position], MARKERS[number % len(MARKERS)])
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_xlim(left=0)
        axis.set_ylim(-0.02, 1.02)
        axis.set_xlabel("e-foldings of weight decay")
        axis.set_title(title)
    axes[0, 0].set_ylabel("share")
    for position, std in enumerate(stds):
        axes[0, 0].plot([], [], color=style.NEUTRAL[position], label=f"embeddings of standard deviation {std:g}")
    for number, decay in enumerate(decays):
        axes[0, 0].plot([], [], MARKERS[number % len(MARKERS)], color="black", label=f"weight decay {decay:g}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(2, len(stds)))
    return figure
