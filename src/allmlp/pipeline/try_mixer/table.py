"""The skills of a tried mixer beside the committed ones: a table, and the crossover's matrix."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import pandas as pd

from allmlp.common.terminal import align_columns
from allmlp.report import save, style
from allmlp.report.seeds import aggregate_seeds
from allmlp.studies.crossover.families import FEWEST_OF_INTERVAL, order_scores
from allmlp.studies.crossover.figures import matrix

HEADS = ("task", "architecture", "skill", "95 % interval", "seeds", "operations")
SPARE = 1.1  # of the minutes that are said: the next steps may be slower than those that were timed


class TaskTrial(NamedTuple):
    """One task: the rows of its score; steps of a training, and those that the whole budget buys."""

    task: str
    rows: pd.DataFrame
    steps: int
    whole: int
    flops: int  # counted operations of a step
    needs: float  # seconds of all its trainings with the whole budget, by the steps timed here

    @property
    def share(self) -> float:
        """Of the budget."""
        return self.steps / self.whole


def lines(committed: dict[str, pd.DataFrame], tried: list[TaskTrial], name: str, scale: str) -> Iterator[str]:
    """The table, best first, and what its rows cost."""
    rows = []
    for one in tried:
        of_tasks = _join_rows(committed, one)
        found = aggregate_seeds(of_tasks, ["task", "column"], "skill_1").sort_values("mean", ascending=False)
        for task in one.rows["task"].unique():
            rows += [_row(row, one, name) for row in found[found["task"] == task].to_dict("records")]
    yield from align_columns([HEADS, *rows], left=2)
    yield "skill: 0 for the best answer that does not read the input, 1 for no error; * is yours"
    yield f"95 % t intervals over seeds, from {FEWEST_OF_INTERVAL} on"
    if committed["score"].empty:
        yield f"of scale {scale} nothing is committed to compare with"
    for one in tried:
        yield _budget(one, scale, minutes(tried))
        for run in one.rows.loc[one.rows["diverged"], "run"].unique():
            yield f"{run}: diverged, its skill is that of the weights before"


def _join_rows(committed: dict[str, pd.DataFrame], tried: TaskTrial) -> pd.DataFrame:
    """The rows of a task: committed trainings and the tried ones."""
    rows, tasks = committed["score"], tried.rows["task"].unique()
    there = [order_scores(rows[rows["task"].isin(tasks)])] if len(rows) else []
    return pd.concat([*there, tried.rows], ignore_index=True)


def _row(row: dict[Any, Any], tried: TaskTrial, name: str) -> tuple[str, ...]:
    mine = row["column"] == name
    interval = "-" if row["n"] < FEWEST_OF_INTERVAL else f"{row['low']:.3f} to {row['high']:.3f}"
    spent = tried.flops * (tried.steps if mine else tried.whole)
    named = f"{row['column']}{' *' * mine}"
    return (row["task"], named, f"{row['mean']:.3f}", interval, str(row["n"]), f"{spent:.2g}")


def minutes(tried: list[TaskTrial]) -> int:
    """What --minutes must be so that each task, with an equal part of them, gets its whole budget."""
    return math.ceil(SPARE * len(tried) * max(one.needs for one in tried) / 60)


def _budget(tried: TaskTrial, scale: str, needed: int) -> str:
    """What the trainings of a task cost, beside those that are committed."""
    if tried.steps == tried.whole:
        return f"{tried.task}: {tried.steps:,} steps, the whole budget of operations that each row of {scale} had"
    return (
        f"{tried.task}: {tried.steps:,} of {tried.whole:,} steps, {tried.share:.0%} of the other rows' operations, so "
        f"not comparable. They kept no learning curve to cut, and their rate had not decayed there: give --minutes "
        f"{needed:,}, or --task {tried.task} --minutes {minutes([tried]):,}"
    )


def draw(committed: dict[str, pd.DataFrame], tried: list[TaskTrial], abilities: pd.DataFrame, file: Path) -> None:
    """The matrix of the crossover with a further column, as SVG."""
    rows = pd.concat([committed["score"], *(one.rows for one in tried)], ignore_index=True)
    with matplotlib.rc_context(style.rc()):
        figure = matrix.make(score=rows, abilities=abilities)
    save.save(figure, file, sorted(rows["run"].unique()))
