"""The matrix: skill of every family or architecture on every task, or why it cannot do the task."""

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.seeds import aggregate_seeds
from allmlp.spec.exhibits import figure
from allmlp.studies.crossover import ladders
from allmlp.studies.crossover.families import FEWEST_OF_INTERVAL, LEARNT, REFERENCE, is_surely_learnt, order_scores
from allmlp.studies.shared import crossing_drawing
from allmlp.studies.shared.crossing import compare

DARK = 0.6  # a skill above is written in white
LINE = 15  # letters of a reason in one line of a cell


@figure(
    "Every family on every task",
    claims=["all-own-1", "all-own-2", "all-own-3"],
    parts=["trained"],
    also=["abilities"],
    values={"fewest_of_interval": FEWEST_OF_INTERVAL, "learnt": LEARNT},
)
def matrix(score: pd.DataFrame, abilities: pd.DataFrame) -> Figure:
    """Skill at the end of training, mean over seeds; the best of a task is bold. With {fewest_of_interval} seeds or
    more, half the width of the 95 % t interval over seeds is added. Skill is 0 for the best constant answer (in
    recall, the best that looks up no key) and 1 for no error; darker is more. For text, it is the share of the
    entropy of the token frequencies that was learned, which is far below 1 for every model. Left of the line:
    attention itself. Below a skill: in how many seeds it is {learnt} or more. No skill is bold in a task that
    nothing surely learned, because the interval of the best skill reaches zero or its mean is below {learnt}. All
    models of a task had the same number of counted operations and the same search of learning rates. Retrieval is
    measured with the models that were trained on stories; of a text longer than the context they read the last
    tokens. Hatched: the architecture cannot do the task, for the reason given by its class. The sizes of the recall
    tasks were chosen by trials of attention alone.
    """
    rows = order_scores(score)
    cells = _cells(rows).set_index(["task", "column"])
    tasks = [task for task in abilities["task"].unique() if task in set(rows["task"])]
    rank = {family: place for place, family in enumerate(rows["family"].unique())}
    columns = list(rows.sort_values("family", key=lambda of: of.map(rank), kind="stable")["column"].unique())
    members = rows.groupby("column")["model"].agg(set)
    figure, ((axes,),) = style.canvas(width=max(6.0, 1.4 + 0.82 * len(columns)), height=0.9 + 0.62 * len(tasks))
    skills = np.array([[cells["mean"].get((task, column), np.nan) for column in columns] for task in tasks])
    axes.imshow(style.shades(skills), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_facecolor("#f2f2f2")
    if columns[0] == REFERENCE:
        axes.axvline(0.5, color="black", linewidth=1.5)
    for y, task in enumerate(tasks):
        for x, column in enumerate(columns):
            cell = cells.loc[task, column] if (task, column) in cells.index else None
            _say(axes, x, y, cell, _reason(abilities, members[column], task))
    axes.set_xticks(range(len(columns)), [textwrap.fill(column, 12) for column in columns], fontsize=7)
    axes.set_yticks(range(len(tasks)), tasks, fontsize=8)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.xaxis.tick_top()
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    """task, column, mean and half the interval of the skill (NaN with too few seeds), in how many of its seeds it was
    learned, and is it the best of a task that was surely learned?
    """
    found = aggregate_seeds(rows, ["task", "column"], "skill_1")
    best = found["mean"].round(2) == found.groupby("task")["mean"].transform("max").round(2)  # as they are printed
    half = (found["high"] - found["mean"]).where(found["n"] >= FEWEST_OF_INTERVAL)
    learned = rows["skill_1"].ge(LEARNT).groupby([rows["task"], rows["column"]]).sum().rename("learned").reset_index()
    return found.assign(half=half, best=best & is_surely_learnt(found)).merge(learned, on=["task", "column"])


def _reason(abilities: pd.DataFrame, of_column: set[str], task: str) -> str:
    """Why none of a column's architectures can do a task; empty if one could but is not planned."""
    of_task = abilities[(abilities["task"] == task) & abilities["architecture"].isin(of_column)]
    reasons = [reason for reason in of_task["reason"] if reason]
    return reasons[0] if len(reasons) == len(of_task) and reasons else ""


def _say(axes: Axes, x: int, y: int, cell: pd.Series | None, reason: str) -> None:
    if cell is None and reason:
        axes.fill_between(
            [x - 0.5, x + 0.5], y - 0.5, y + 0.5, facecolor="white", edgecolor="#cccccc", hatch="////", lw=0
        )
        text = "\n".join(["cannot:", *textwrap.wrap(reason, LINE)])
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        axes.text(x, y, text, ha="center", va="center", fontsize=5.5, color="#555555", bbox=box)
    elif cell is None:
        axes.text(x, y, "not planned", ha="center", va="center", fontsize=5.5, color="#999999")
    else:
        text = f"{round(cell['mean'], 2) + 0.0:.2f}" + ("" if np.isnan(cell["half"]) else f" ± {cell['half']:.2f}")
        looks: dict[str, Any] = {"ha": "center", "color": "white" if cell["mean"] > DARK else "black"}
        axes.text(x, y - 0.04, text, va="bottom", fontsize=7, weight="bold" if cell["best"] else "normal", **looks)
        seeds = f"learned in\n{cell['learned']:g} of {cell['n']:g} seeds"
        axes.text(x, y + 0.04, seeds, va="top", fontsize=6, **looks)


@figure(
    "Skill over operations, and who leads",
    claims=["all-own-4", "all-own-5"],
    parts=[ladders.TEXT],
    also=[ladders.KEYS],
)
def over_operations(score: pd.DataFrame, cost: pd.DataFrame) -> Figure:
    """A panel for each task: skill after trainings of so many counted operations, mean over seeds and 95 % t interval.
    Each point is a finished training, with a learning rate searched for its budget, at the width that is best there.
    Last: loss on stories minus the flat mixer's after equally many operations, paired by seed. Above 0 the flat mixer
    leads. A dot is a crossing, where the mean difference changes its sign; grey, the 95 % interval of the Llama's, in
    which the interval of the difference contains 0. The matrix is one slice of these curves.
    """
    rows = ladders.add_operations(score, cost)
    tasks, drawn = list(rows["task"].unique()), {name: {"color": style.colour(name)} for name in rows["model"].unique()}
    figure, (axes,) = style.canvas(columns=len(tasks) + 1, height=2.8)
    for axis, (task, of_task) in zip(axes, rows.groupby("task", sort=False), strict=False):
        skills = {
            name: ladders.curves(ladders.best_widths(of_task, name), "skill_1") for name in of_task["model"].unique()
        }
        crossing_drawing.means(axis, skills, drawn)
        axis.set(title=task, xlabel="counted operations", ylabel="skill" if axis is axes[0] else "")
    text = rows[rows["part"].eq(ladders.TEXT)]
    losses = {name: ladders.curves(ladders.best_widths(text, name)) for name in text["model"].unique()}
    for name in (other for other in losses if other != ladders.FLAT):
        course = compare(losses[ladders.FLAT], losses[name])
        crossing_drawing.difference(axes[-1], course, drawn[name], marked=name == ladders.LLAMA)
    axes[-1].set(xlabel="counted operations", ylabel="loss minus the flat mixer's\n(nats per token)")
    plots.add_legend(figure, axes[:-1], ncols=len(drawn))
    return figure
