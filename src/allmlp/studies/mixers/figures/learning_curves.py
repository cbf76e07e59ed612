"""Held-out loss against steps, seconds and counted FLOPs: three columns, because each has another winner."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.drawing import HEADLINES, colour
from allmlp.studies.mixers.parts import TRAINING, of_base
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds

AXES = {"steps": "training step", "seconds": "seconds of training", "flops": "counted FLOPs"}


@figure(
    "Learning at equal steps, equal time and equal operations",
    where="tables of Scaling Properties",
    claims=["001-6", "001-7", "001-8", "001-own-1"],
    parts=[TRAINING],
)
def learning_curves(learning_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents, padding left out, against training steps, against seconds (a model's seconds per step
    are those of one benchmark where that timed all of them, else the median over its seeds on the device that trained
    all of them, for runs share the machine), and against counted operations forward and backward. Mean over seeds and
    95 % t interval; models of one width and depth, each at the learning rate that its own search chose, where the scale
    searches. Where the rate stays constant after warm-up, losses on the way compare; where it decays, only the ends do.
    The article's unit of compute is the middle column, in hours of one graphics card; its losses belong to those, so
    there is no grey mark.
    """
    rows = budgets.curves(of_part(learning_curve, TRAINING))
    rows = of_base(rows[rows["variant"].isin(HEADLINES)])
    figure, axes = style.canvas(columns=len(AXES), height=3.0)
    for axis, unit in zip(axes[0], AXES, strict=True):
        _panel(axis, rows, unit)
    losses = rows.loc[rows["step"].gt(0), "validation_nats"].to_numpy()
    losses = losses[np.isfinite(losses)]
    for axis in axes[0]:
        axis.set_ylim(0.97 * losses.min(), min(losses.max(), 2.5 * losses.min()) * 1.03)
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    plots.legend_below(figure, axes[0, :1], ncols=len(HEADLINES))
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, unit: str) -> None:
    for position, variant in enumerate(sorted(rows["variant"].unique(), key=HEADLINES.index)):
        of_model = rows[rows["variant"].eq(variant) & rows["step"].gt(0)]
        line = over_seeds(of_model, ["step"], "validation_nats")
        line = line.merge(of_model.groupby("step")[unit].median(), on="step")
        plots.band(axis, line, unit, color=colour(variant, position), marker="o", markersize=2.5, label=variant)
    axis.set_xscale("log")
    axis.set_xlabel(AXES[unit])
