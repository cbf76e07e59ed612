"""Share of first-layer neurons in each class over training, one panel per reading (000-5)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.language.classification import CLASSES, HYBRID, share_column
from allmlp.studies.seeds import curve

MEASURES = ["neuron_classes"]
PAPER = "Figure 4, left"
CLAIMS = ["000-5"]
TITLE = "Classes of first-layer neurons over training"
CAPTION = (
    "Share of first-layer neurons that Appendix H calls n-gram, bag-of-words (and not n-gram) or hybrid "
    "(both only with its relaxed thresholds), against training steps; mean over seeds and 95 % t interval. "
    "The paper leaves open what its norms are relative to (E000-2, E000-3): left, as they are, each time row "
    "over its own norm; right, over the neuron's largest row and its root mean square, with the threshold of "
    "variance scaled to the embedding width. The paper prints a drawing without numbers, so there is no grey "
    "mark."
)

# Colours that no architecture of this study has.
COLOURS = dict(zip(CLASSES, (style.NEUTRAL[i] for i in (3, 2, 4, 6)), strict=True))


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for name, colour in COLOURS.items():
        share = curve(rows, share_column(name))
        axes.fill_between(share["step"], share["low"], share["high"], color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            share["step"],
            share["mean"],
            color=colour,
            linestyle="--" if name == HYBRID else "-",
            marker="o",
            markersize=3,
            label=name,
        )
    axes.set_xscale("symlog", linthresh=max(1, rows.loc[rows["step"] > 0, "step"].min()))
    axes.set_xlim(0, rows["step"].max() * 1.1)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("training steps (logarithmic)")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Lines of the four shares over steps; tables["neuron_classes"] with run and seed."""
    rows = tables["neuron_classes"]
    readings = list(rows["reading"].unique())
    figure, axes = style.canvas(columns=len(readings), height=2.9)
    for axis, reading in zip(axes[0], readings, strict=True):
        _panel(axis, rows[rows["reading"] == reading])
        axis.set_title(f"reading: {reading}")
    axes[0, 0].set_ylabel("share of neurons")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
