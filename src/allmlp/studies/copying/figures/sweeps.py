"""Steps to half the plateau against the learning rate, and against the number of heads (002-10)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.report import style
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds

MEASURES = ["falls"]
PARTS = ["sweep", "heads"]
PAPER = "Appendix D"
CLAIMS = ["002-10"]
TITLE = "Learning rates and heads"
CAPTION = (
    "First step below half the plateau against the learning rate of both models, and against the number of "
    "the Transformer's heads at the comparison's rate. Dots are seeds that are used for nothing else, lines "
    "their mean with 95 % t intervals. Open triangles: not within the budget. The paper found one rate and "
    "one number of heads best at its own width and depth, drawn in grey."
)


def _line(axes: Axes, rows: pd.DataFrame, by: str, model: str) -> None:
    colour = style.colour(model)
    fell = rows["fell_to_half"].astype(bool)
    axes.scatter(rows.loc[fell, by], rows.loc[fell, "to_half_steps"], s=8, color=colour, alpha=0.5, linewidth=0)
    late = rows[~fell]
    axes.scatter(late[by], late["to_half_steps"], s=24, marker="^", facecolor="none", edgecolor=colour)
    means = over_seeds(rows, [by], "to_half_steps")
    half = means["high"] - means["mean"]
    axes.errorbar(means[by], means["mean"], yerr=half, color=colour, capsize=2, elinewidth=1.0, label=model)


def _finish(axes: Axes, values: list[float], label: str, base: int) -> None:
    axes.set_xscale("log", base=base)
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two panels of tables["falls"]; tables["paper"] with 002-10's numbers."""
    sweep, heads = of_part(tables["falls"], "sweep"), of_part(tables["falls"], "heads")
    of_claim = tables["paper"][tables["paper"]["claim"] == "002-10"]
    paper = {str(key): float(value) for key, value in zip(of_claim["key"], of_claim["value"], strict=True)}
    figure, axes = style.canvas(columns=2, height=2.8)
    for model in sorted(sweep["model"].unique()):
        _line(axes[0, 0], sweep[sweep["model"] == model], "learning_rate", model)
        rate = paper.get(f"best_rate_{model.replace('-', '_')}_1")
        if rate is not None:
            axes[0, 0].axvline(rate, color=style.PAPER, linestyle=(0, (4, 3)), linewidth=1.0)
            axes[0, 0].text(rate, 0, f" {model}", color=style.PAPER, fontsize=7, rotation=90, va="bottom")
    _finish(axes[0, 0], sorted(sweep["learning_rate"].unique()), "learning rate", 10)
    one = sweep[(sweep["model"] == "transformer") & sweep["learning_rate"].isin(heads["learning_rate"])]
    heads = pd.concat([one, heads], ignore_index=True)
    _line(axes[0, 1], heads, "n_heads", "transformer")
    if "best_heads_count" in paper:
        style.mark_paper(axes[0, 1], paper["best_heads_count"], along="x")
    _finish(axes[0, 1], sorted(heads["n_heads"].unique()), "heads", 2)
    axes[0, 0].set_ylabel("steps to half the plateau")
    return figure
