"""Loss against size at fixed budgets, with a parabola and its minimum for each (000-1, 000-2)."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.isoflop import BUDGET, SIZE, minima, parabola, pooled

BEYOND = 1.6  # how far, as a factor of the size, a curve is drawn beyond the sizes tried
MARKS = {"inside": "D", "below": "<", "above": ">"}


@figure(
    "Loss against size at fixed budgets of compute",
    where="Figure 1, left",
    claims=["000-1", "000-2"],
    parts=["scaling"],
)
def isoflop(scaling: pd.DataFrame) -> Figure:
    """Loss on held-out documents at the end of training against the number of weights, embeddings among them, one
    colour per budget C = 6 N D of operations by the usual estimate, D the supervised targets. Dots are seeds. Curves
    are parabolas in log N through the means over seeds, dotted where they leave the sizes tried; three sizes fix one
    exactly, and leave nothing over to judge its form by. Filled diamonds: a minimum inside the sizes tried. Where it
    lies outside, an open triangle at the edge points to it, and the power laws leave that budget out; without a mark
    the parabola has no minimum. A model that sees its sequences more than once is marked by a cross. The paper's curves
    carry no values that could be drawn here.
    """
    models = sorted(scaling["model"].unique(), reverse=True)  # the MLP first
    budgets = sorted(scaling[BUDGET].unique())
    colours = dict(zip(budgets, matplotlib.colormaps["viridis_r"](np.linspace(0.15, 1, len(budgets))), strict=True))
    figure, axes = style.canvas(columns=len(models), height=3.3)
    for axis in axes[0, 1:]:  # before anything is drawn, so that the limits are those of all panels
        axis.sharex(axes[0, 0])
        axis.sharey(axes[0, 0])
    for axis, model in zip(axes[0], models, strict=True):
        for budget, cell in scaling[scaling["model"] == model].groupby(BUDGET):
            _budget(axis, cell, colours[budget], f"{budget:.2g}")
        axis.set_xscale("log")
        axis.set_xlabel("weights N")
        axis.set_title(model)
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    order = [f"{budget:.2g}" for budget in budgets]
    plots.legend_below(figure, axes[0], ncols=1, order=order, loc="outside right upper", title="C = 6 N D")
    return figure


def _budget(axes: Axes, rows: pd.DataFrame, colour: str, label: str) -> None:
    means = pooled(rows)
    repeated = rows["epochs_1"] > 1
    for some, marker in ((rows[~repeated], "o"), (rows[repeated], "x")):
        axes.scatter(some[SIZE], some["validation_nats"], s=9, marker=marker, color=colour, alpha=0.6, linewidth=0.7)
    fit = parabola(means[SIZE], means["validation_nats"])
    side = minima(means)["side"].iloc[0]
    low, high = np.exp([fit.log_smallest, fit.log_largest])
    if side == "nowhere":
        axes.plot(means[SIZE], means["validation_nats"], color=colour, linewidth=0.8, linestyle=":", label=label)
        return
    within = np.geomspace(low, high, 60)
    axes.plot(within, fit(within), color=colour, label=label)
    for start, end in ((low / BEYOND, low), (high, high * BEYOND)):
        beyond = np.geomspace(start, end, 12)
        axes.plot(beyond, fit(beyond), color=colour, linestyle=":", linewidth=0.9)
    at = np.exp(np.clip(fit.log_vertex, fit.log_smallest, fit.log_largest))
    fill = colour if side == "inside" else "white"
    axes.scatter(at, fit(at), s=42, marker=MARKS[side], facecolor=fill, edgecolor=colour, zorder=3)
