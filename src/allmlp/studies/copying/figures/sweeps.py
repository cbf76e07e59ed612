"""Steps to half the plateau against the learning rate, and against the number of heads (002-10)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.copying.parts import with_one_head
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds


@figure("Learning rates and heads", where="Appendix D", claims=["002-10"], parts=["sweep", "heads"])
def sweeps(falls: pd.DataFrame, paper: Paper) -> Figure:
    """First step below half the plateau against the learning rate of both models, and against the number of the
    Transformer's heads at the comparison's rate. Dots are seeds that are used for nothing else, lines their mean with
    95 % t intervals. Open triangles: not within the budget. The paper found one rate and one number of heads best at
    its own width and depth, drawn in grey.
    """
    sweep, heads, printed = of_part(falls, "sweep"), with_one_head(falls), paper["002-10"]
    figure, ((left, right),) = style.canvas(columns=2, height=2.8)
    for model, _, rows in plots.by_model(sweep):
        _line(left, rows, "learning_rate", model)
        if rate := printed.get(f"best_rate_{model.replace('-', '_')}_1"):
            left.axvline(rate, color=style.PAPER, linestyle=(0, (4, 3)), linewidth=1.0)
            left.text(rate, 0, f" {model}", color=style.PAPER, fontsize=7, rotation=90, va="bottom")
    _finish(left, sorted(sweep["learning_rate"].unique()), "learning rate", 10)
    _line(right, heads, "n_heads", "transformer")
    style.mark_paper(right, printed["best_heads_count"], along="x")
    _finish(right, sorted(heads["n_heads"].unique()), "heads", 2)
    left.set_ylabel("steps to half the plateau")
    return figure


def _line(axes: Axes, rows: pd.DataFrame, by: str, model: str) -> None:
    colour = style.colour(model)
    fell = rows["fell_to_half"].astype(bool)
    axes.scatter(rows.loc[fell, by], rows.loc[fell, "to_half_steps"], s=8, color=colour, alpha=0.5, linewidth=0)
    late = rows[~fell]
    axes.scatter(late[by], late["to_half_steps"], s=24, marker="^", facecolor="none", edgecolor=colour)
    means = over_seeds(rows, [by], "to_half_steps")
    plots.bars(axes, means, by, color=colour, elinewidth=1.0, label=model)


def _finish(axes: Axes, values: list[float], label: str, base: int) -> None:
    plots.ticks(axes, values, base=base)
    axes.set_xlabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")
