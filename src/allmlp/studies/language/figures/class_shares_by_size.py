"""Classes of first-layer neurons at the end of training against context and hidden width (000-15)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.report import style
from allmlp.studies.language.classification import share_column
from allmlp.studies.language.drawing import COLOURS, LINES, line
from allmlp.studies.language.parts import along, at_end
from allmlp.studies.seeds import over_seeds

MEASURES = ["neuron_classes"]
PARTS = ["variation"]
PAPER = "Figure 11"
CLAIMS = ["000-15"]
TITLE = "Classes of neurons against context and width"
CAPTION = (
    "Share of first-layer neurons in each class of Appendix H after the last step, against the context length (left) "
    "and the hidden width (right), under both readings of its norms; all else as in the base run, whose value both "
    "columns share. Mean over seeds and 95 % t interval. The paper, at contexts and widths that it does not list, "
    "finds the shares roughly constant, and context to have the larger effect."
)

AXES = {"context": "context (tokens)", "d_mlp": "hidden width w (neurons)"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A row per reading, a column per setting; tables["neuron_classes"] with the labels of variations."""
    rows = at_end(tables["neuron_classes"])
    readings = list(rows["reading"].unique())
    figure, axes = style.canvas(columns=len(AXES), rows=len(readings), height=2.3)
    for down, reading in enumerate(readings):
        for axis, (setting, label) in zip(axes[down], AXES.items(), strict=True):
            of_setting = along(rows[rows["reading"] == reading], setting)
            for name, colour in COLOURS.items():
                points = over_seeds(of_setting, [setting], share_column(name))
                line(axis, points, setting, colour, linestyle=LINES[name], marker="o", label=name)
            values = sorted(of_setting[setting].unique())
            axis.set_xscale("log", base=2)
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_ylim(-0.02, 1.02)
            axis.set_xlabel(label)
        axes[down, 0].set_ylabel(f"reading: {reading}\nshare of neurons")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure
