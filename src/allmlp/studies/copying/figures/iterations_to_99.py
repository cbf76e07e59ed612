"""Iterations to 99 % accuracy against string length, one colour per model (002-5)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from allmlp.report import style
from allmlp.studies.seeds import over_seeds

MEASURES = ["iterations_to_99"]
PARTS, ALSO = ["comparison"], ["long"]
PAPER = "Figure 4"
CLAIMS = ["002-5"]
TITLE = "Iterations to 99 % accuracy"
CAPTION = (
    "First iteration with 99 % of the tokens of a batch right, against string length. Dots are seeds, bars "
    "their mean and 95 % t interval where every seed arrived. Open triangles are runs that did not arrive "
    "within the budget, drawn at the budget with their number: they need more iterations. Models stand side "
    "by side for legibility. Grey: from this string length on the paper's Linear CausalRN does not arrive; "
    "its other values are drawn without numbers."
)

DODGE = 0.04  # the factor that sets models at one string length side by side
BEYOND = 1.4  # how far above the largest budget the axis goes, for the arrows


def _model(axes: Axes, rows: pd.DataFrame, model: str, position: int, shift: float) -> None:
    colour, reached = style.colour(model, position), rows["reached"].astype(bool)
    arrived, censored = rows[reached], rows[~reached]
    axes.scatter(arrived["string_length"] * shift, arrived["iterations"], s=10, color=colour, alpha=0.6, linewidth=0)
    at = censored.drop_duplicates("string_length")
    axes.scatter(at["string_length"] * shift, at["budget"], s=28, marker="^", facecolor="none", edgecolor=colour)
    for length, budget in zip(at["string_length"], at["budget"], strict=True):
        arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 4, "shrinkB": 0}
        x, tip = length * shift, budget * BEYOND**0.6
        axes.annotate("", (x, tip), (x, budget), arrowprops=arrow)
        count = int((censored["string_length"] == length).sum())
        axes.text(x, tip, str(count), color=colour, fontsize=8, ha="center", va="bottom")
    complete = rows.groupby("string_length")["reached"].transform("all")
    means = over_seeds(rows[complete], ["string_length"], "iterations")
    half = means["high"] - means["mean"]
    x = means["string_length"] * shift
    marks: dict[str, Any] = {"color": colour, "marker": "_", "markersize": 9, "linewidth": 0.7}
    axes.errorbar(x, means["mean"], yerr=half, capsize=2, elinewidth=1.0, label=model, **marks)


def _scales(axes: Axes, rows: pd.DataFrame, lengths: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.set_xlim(lengths[0] * 0.8, lengths[-1] * 1.25)
    axes.set_ylim(max(1, rows["iterations"].min()) * 0.7, rows["budget"].max() * BEYOND)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.set_xlabel("string length (letters)")
    axes.set_ylabel("iterations to 99 % token accuracy")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One axis of tables["iterations_to_99"]; tables["paper"] with 002-5's numbers."""
    rows, paper = tables["iterations_to_99"], tables["paper"]
    figure, axes = style.canvas(width=5.5, height=3.6)
    models, lengths = sorted(rows["model"].unique()), sorted(rows["string_length"].unique())
    for position, model in enumerate(models):
        shift = 1 + DODGE * (position - (len(models) - 1) / 2)
        _model(axes[0, 0], rows[rows["model"] == model], model, position, shift)
    if not rows["reached"].all():
        axes[0, 0].scatter([], [], s=28, marker="^", facecolor="none", edgecolor="black", label="not within the budget")
    fails = paper[(paper["claim"] == "002-5") & (paper["key"] == "linear_fails_from_tokens")]["value"]
    if len(fails) and float(fails.iloc[0]) <= lengths[-1]:
        style.mark_paper(axes[0, 0], float(fails.iloc[0]), along="x", label="paper: Linear CausalRN fails from here on")
    _scales(axes[0, 0], rows, lengths)
    named = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    order = [*models, *(label for label in named if label not in models)]
    figure.legend([named[label] for label in order], order, loc="outside lower center", ncols=3)
    return figure
