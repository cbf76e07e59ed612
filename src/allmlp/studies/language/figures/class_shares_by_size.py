"""Classes of first-layer neurons at the end of training against context and hidden width (000-15)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.classification import share_column
from allmlp.studies.language.drawing import COLOURS, LINES
from allmlp.studies.language.parts import along
from allmlp.studies.seeds import at_end, over_seeds

AXES = {"context": "context (tokens)", "d_mlp": "hidden width w (neurons)"}


@figure("Classes of neurons against context and width", where="Figure 11", claims=["000-15"], parts=["variation"])
def class_shares_by_size(neuron_classes: pd.DataFrame) -> Figure:
    """Share of first-layer neurons in each class of Appendix H after the last step, against the context length (left)
    and the hidden width (right), under both readings of its norms; all else as in the base run, whose value both
    columns share. Mean over seeds and 95 % t interval. The paper, at contexts and widths that it does not list, finds
    the shares roughly constant, and context to have the larger effect.
    """
    rows = at_end(neuron_classes)
    readings = list(rows["reading"].unique())
    figure, axes = style.canvas(columns=len(AXES), rows=len(readings), height=2.3)
    for down, reading in enumerate(readings):
        for axis, (setting, label) in zip(axes[down], AXES.items(), strict=True):
            of_setting = along(rows[rows["reading"] == reading], setting)
            for name, colour in COLOURS.items():
                points = over_seeds(of_setting, [setting], share_column(name))
                plots.band(axis, points, setting, color=colour, linestyle=LINES[name], marker="o", label=name)
            plots.ticks(axis, sorted(of_setting[setting].unique()), base=2)
            axis.set_ylim(-0.02, 1.02)
            axis.set_xlabel(label)
        axes[down, 0].set_ylabel(f"reading: {reading}\nshare of neurons")
    plots.legend_below(figure, [axes[0, 0]], ncols=len(COLOURS))
    return figure
