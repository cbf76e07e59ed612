"""Weights of example neurons of each class over time and over frequencies, drawn at random (000-6, 000-8)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.classification import CLASSES, N_GRAM
from allmlp.studies.language.frequencies import to_frequencies

WINDOW = 3  # Figure 6's last columns of the n-gram neuron


@figure(
    "Neurons of each class", where="Figure 4, right; Figures 6 and 12", claims=["000-6", "000-8"], parts=["neurons"]
)
def example_neurons(example_neurons: pd.DataFrame) -> Figure:
    """Weights of neurons of the first seed, drawn at random inside their class after the last step and not chosen for
    their looks: the first coordinates of the embedding (down) against time (across, the last token on the right), and
    below them the same in the orthonormal DCT-II over time, frequency 0 on the left; for n-gram neurons also the DCT of
    the last three positions alone. Each picture is scaled to its own largest weight. Classes without a neuron in this
    seed are missing. The paper shows such slices without a colour scale.
    """
    rows = example_neurons[example_neurons["seed"] == example_neurons["seed"].min()]
    of_class = {name: rows[rows["class"] == name].groupby("neuron", sort=False) for name in CLASSES}
    examples = [(name, neuron, _matrix(one)) for name, neurons in of_class.items() for neuron, one in neurons]
    figure, axes = style.canvas(columns=len(examples), rows=3, width=max(4.0, 1.0 * len(examples)), height=1.6)
    for column, (name, neuron, weights_TD) in zip(axes.T, examples, strict=True):
        shown = [weights_TD, to_frequencies(weights_TD[None])[0]]
        if name == N_GRAM:
            shown.append(to_frequencies(weights_TD[None, -WINDOW:])[0])
        else:
            column[2].set_axis_off()
        for axis, picture_TD in zip(column, shown, strict=False):
            _picture(axis, picture_TD)
        column[0].set_title(f"{name}\nneuron {neuron}", fontsize=7)
    for axis in axes.ravel():
        plots.bare(axis)
    for axis, label in zip(axes[:, 0], ("time", "frequency", "frequency\nof the last three"), strict=True):
        axis.set_ylabel(f"embedding\nagainst {label}", fontsize=7)
    return figure


def _matrix(rows: pd.DataFrame) -> NDArray[np.float64]:
    """(T, coordinates) of one example."""
    weights = rows.sort_values("position")["weights"]
    return np.array([[int(word) for word in text.split()] for text in weights], dtype=np.float64)


def _picture(axes: Axes, weights_TD: NDArray[np.float64]) -> None:
    shades_TD = style.shades(weights_TD)
    most = np.abs(shades_TD).max()
    axes.imshow(shades_TD.T, cmap="RdBu_r", vmin=-most, vmax=most, **plots.PICTURE)
