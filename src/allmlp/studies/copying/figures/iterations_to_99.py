"""Iterations to 99 % accuracy against string length, one colour per model (002-5)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.seeds import over_seeds

DODGE = 0.04  # the factor that sets models at one string length side by side
BEYOND = 1.4  # how far above the largest budget the axis goes, for the arrows


@figure("Iterations to 99 % accuracy", where="Figure 4", claims=["002-5"], parts=["comparison"], also=["long"])
def iterations_to_99(iterations_to_99: pd.DataFrame, paper: Paper) -> Figure:
    """First iteration with 99 % of the tokens of a batch right, against string length. Dots are seeds, bars their mean
    and 95 % t interval where every seed arrived. Open triangles are runs that did not arrive within the budget, drawn
    at the budget with their number: they need more iterations. Models stand side by side for legibility. Grey: from
    this string length on the paper's Linear CausalRN does not arrive; its other values are drawn without numbers.
    """
    rows = iterations_to_99
    figure, ((axis,),) = style.canvas(width=5.5, height=3.6)
    models, lengths = sorted(rows["model"].unique()), sorted(rows["string_length"].unique())
    for position, (model, colour, of_model) in enumerate(plots.by_model(rows)):
        shift = 1 + DODGE * (position - (len(models) - 1) / 2)
        _model(axis, of_model.assign(x=of_model["string_length"] * shift), model, colour)
    if not rows["reached"].all():
        axis.scatter([], [], s=28, marker="^", facecolor="none", edgecolor="black", label="not within the budget")
    fails = paper["002-5"]["linear_fails_from_tokens"]
    if fails <= lengths[-1]:
        style.mark_paper(axis, fails, along="x", label="paper: Linear CausalRN fails from here on")
    plots.ticks(axis, lengths, base=2)
    axis.set_yscale("log")
    axis.set_xlim(lengths[0] * 0.8, lengths[-1] * 1.25)
    axis.set_ylim(max(1, rows["iterations"].min()) * 0.7, rows["budget"].max() * BEYOND)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.set_xlabel("string length (letters)")
    axis.set_ylabel("iterations to 99 % token accuracy")
    plots.legend_below(figure, [axis], ncols=3, order=models)
    return figure


def _model(axes: Axes, rows: pd.DataFrame, model: str, colour: str) -> None:
    arrived, censored = rows[rows["reached"].astype(bool)], rows[~rows["reached"].astype(bool)]
    axes.scatter(arrived["x"], arrived["iterations"], s=10, color=colour, alpha=0.6, linewidth=0)
    at = censored.groupby("x", sort=False).agg(budget=("budget", "first"), count=("run", "size"))
    axes.scatter(at.index, at["budget"], s=28, marker="^", facecolor="none", edgecolor=colour)
    for x, budget, count in at.itertuples():
        arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 4, "shrinkB": 0}
        tip = budget * BEYOND**0.6
        axes.annotate("", (x, tip), (x, budget), arrowprops=arrow)
        axes.text(x, tip, str(count), color=colour, fontsize=8, ha="center", va="bottom")
    complete = rows[rows.groupby("x")["reached"].transform("all")]
    means = over_seeds(complete, ["x"], "iterations")
    half = means["high"] - means["mean"]  # nan keeps a bar in the legend where no mean has one
    looks: dict[str, Any] = {"color": colour, "marker": "_", "markersize": 9, "linewidth": 0.7, "label": model}
    axes.errorbar(means["x"], means["mean"], yerr=half, capsize=2, elinewidth=1.0, **looks)
