"""Weights of example neurons of each class over time and over frequencies, drawn at random (000-6, 000-8)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from allmlp.report import style
from allmlp.studies.language.classification import CLASSES, N_GRAM
from allmlp.studies.language.drawing import bare
from allmlp.studies.language.frequencies import to_frequencies

MEASURES = ["example_neurons"]
PARTS = ["neurons"]
PAPER = "Figure 4, right; Figures 6 and 12"
CLAIMS = ["000-6", "000-8"]
TITLE = "Neurons of each class"
CAPTION = (
    "Weights of neurons of the first seed, drawn at random inside their class after the last step and not chosen for "
    "their looks: the first coordinates of the embedding (down) against time (across, the last token on the right), "
    "and below them the same in the orthonormal DCT-II over time, frequency 0 on the left; for n-gram neurons also the "
    "DCT of the last three positions alone. Each picture is scaled to its own largest weight. Classes without a neuron "
    "in this seed are missing. The paper shows such slices without a colour scale."
)

WINDOW = 3  # Figure 6's last columns of the n-gram neuron


def _matrix(rows: pd.DataFrame) -> NDArray[np.float64]:
    """(T, coordinates) of one example."""
    weights = rows.sort_values("position")["weights"]
    return np.array([[int(word) for word in text.split()] for text in weights], dtype=np.float64)


def _picture(axes: Axes, weights_TD: NDArray[np.float64]) -> None:
    shades_TD = style.shades(weights_TD)
    most = np.abs(shades_TD).max()
    axes.imshow(
        shades_TD.T, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest", rasterized=True
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A column per example; rows time, frequency, frequency of the last three positions."""
    rows = tables["example_neurons"]
    rows = rows[rows["seed"] == rows["seed"].min()]
    there = set(rows["class"])
    examples = [
        (name, neuron, _matrix(of_neuron))
        for name in CLASSES
        if name in there
        for neuron, of_neuron in rows[rows["class"] == name].groupby("neuron", sort=False)
    ]
    figure, axes = style.canvas(columns=len(examples), rows=3, width=max(4.0, 1.0 * len(examples)), height=1.6)
    for column, (name, neuron, weights_TD) in enumerate(examples):
        _picture(axes[0, column], weights_TD)
        axes[0, column].set_title(f"{name}\nneuron {neuron}", fontsize=7)
        _picture(axes[1, column], to_frequencies(weights_TD[None])[0])
        if name == N_GRAM:
            _picture(axes[2, column], to_frequencies(weights_TD[None, -WINDOW:])[0])
        else:
            axes[2, column].set_axis_off()
    for axis in axes.ravel():
        bare(axis)
    for axis, label in zip(axes[:, 0], ("time", "frequency", "frequency\nof the last three"), strict=True):
        axis.set_ylabel(f"embedding\nagainst {label}", fontsize=7)
    return figure
