"""Share of first-layer neurons in each class over training, one panel per reading (000-5)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.language.classification import share_column
from allmlp.studies.language.drawing import COLOURS, LINES, line
from allmlp.studies.seeds import curve

MEASURES = ["neuron_classes"]
PARTS = ["neurons"]
PAPER = "Figure 4, left"
CLAIMS = ["000-5", "000-10", "000-12"]
TITLE = "Classes of first-layer neurons over training"
CAPTION = (
    "Share of first-layer neurons that Appendix H calls n-gram, bag-of-words (and not n-gram), hybrid (both only with "
    "its relaxed thresholds) or DCT-sparse (few large frequencies, and none of these), against training steps; mean "
    "over seeds and 95 % t interval. The paper leaves open what its norms are relative to (E000-2, E000-3): left, as "
    "they are, each time row over its own norm; right, over the neuron's largest row and its root mean square, with "
    "the threshold of variance scaled to the embedding width. The paper prints a drawing without numbers, so there is "
    "no grey mark."
)


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for name, colour in COLOURS.items():
        line(axes, curve(rows, share_column(name)), "step", colour, linestyle=LINES[name], marker="o", label=name)
    axes.set_xscale("symlog", linthresh=max(1, rows.loc[rows["step"] > 0, "step"].min()))
    axes.set_xlim(0, rows["step"].max() * 1.1)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("training steps (logarithmic)")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A line per class over steps; tables["neuron_classes"] with run and seed."""
    rows = tables["neuron_classes"]
    readings = list(rows["reading"].unique())
    figure, axes = style.canvas(columns=len(readings), height=2.9)
    for axis, reading in zip(axes[0], readings, strict=True):
        _panel(axis, rows[rows["reading"] == reading])
        axis.set_title(f"reading: {reading}")
    axes[0, 0].set_ylabel("share of neurons")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
