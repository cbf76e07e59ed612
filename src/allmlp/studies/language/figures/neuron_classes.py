"""Share of first-layer neurons in each class over training, one panel per reading (000-5)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.classification import share_column
from allmlp.studies.language.drawing import COLOURS, LINES, kept_steps
from allmlp.studies.seeds import curve


@figure(
    "Classes of first-layer neurons over training",
    where="Figure 4, left",
    claims=["000-5", "000-10", "000-12"],
    parts=["neurons"],
)
def neuron_classes(neuron_classes: pd.DataFrame) -> Figure:
    """Share of first-layer neurons that Appendix H calls n-gram, bag-of-words (and not n-gram), hybrid (both only with
    its relaxed thresholds) or DCT-sparse (few large frequencies, and none of these), against training steps; mean over
    seeds and 95 % t interval. The paper leaves open what its norms are relative to (E000-2, E000-3): left, as they are,
    each time row over its own norm; right, over the neuron's largest row and its root mean square, with the threshold
    of variance scaled to the embedding width. The paper prints a drawing without numbers, so there is no grey mark.
    """
    readings = list(neuron_classes["reading"].unique())
    figure, axes = style.canvas(columns=len(readings), height=2.9)
    for axis, reading in zip(axes[0], readings, strict=True):
        rows = neuron_classes[neuron_classes["reading"] == reading]
        for name, colour in COLOURS.items():
            line = curve(rows, share_column(name))
            plots.band(axis, line, color=colour, linestyle=LINES[name], marker="o", label=name)
        kept_steps(axis, rows["step"])
        axis.set_ylim(-0.02, 1.02)
        axis.set_title(f"reading: {reading}")
    axes[0, 0].set_ylabel("share of neurons")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
