"""How the classes' shares depend on Appendix H's thresholds, one varied at a time (000-19)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, share_column
from allmlp.studies.language.drawing import COLOURS
from allmlp.studies.seeds import over_seeds

PANELS = {
    "low_rows": (N_GRAM, "share of low rows needed"),
    "low": (N_GRAM, "norm of a low row"),
    "high": (N_GRAM, "norm of a high row"),
    "variance": (BAG_OF_WORDS, "variance over the printed"),
}


@figure("What the thresholds decide", where="Appendix H", claims=["000-5", "000-19"], parts=["neurons"])
def thresholds(thresholds: pd.DataFrame) -> Figure:
    """Share of neurons that meet the criterion of each of the two classes after the last step, against one threshold of
    Appendix H with the others as printed, under both readings of its norms (rows); mean over seeds and 95 % t interval.
    Grey: the printed value. A share that falls or rises steeply there is the threshold's as much as the network's.
    Neurons may meet both criteria. The paper chose its values by visual inspection.
    """
    readings = list(thresholds["reading"].unique())
    figure, axes = style.canvas(columns=len(PANELS), rows=len(readings), height=2.1, width=7.5)
    for down, reading in enumerate(readings):
        for axis, (threshold, (name, label)) in zip(axes[down], PANELS.items(), strict=True):
            at = thresholds[(thresholds["reading"] == reading) & (thresholds["threshold"] == threshold)]
            points = over_seeds(at, ["value_1"], share_column(name))
            plots.band(axis, points, "value_1", color=COLOURS[name], label=name)
            style.mark_paper(axis, float(at["printed_1"].iloc[0]), along="x", label="printed")
            axis.set_ylim(-0.02, 1.02)
            if threshold == "variance":
                axis.set_xscale("log", base=2)
            if down == len(readings) - 1:
                axis.set_xlabel(label, fontsize=8)
        axes[down, 0].set_ylabel(f"reading: {reading}\nshare of neurons")
    plots.legend_below(figure, axes[0], ncols=3, order=[N_GRAM, BAG_OF_WORDS])
    return figure
