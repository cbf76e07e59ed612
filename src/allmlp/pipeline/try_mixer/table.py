"""The skills of a tried mixer beside the committed ones: a table, and the crossover's matrix."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import pandas as pd

from allmlp.common.terminal import align_columns
from allmlp.report import save, style
from allmlp.studies.crossover.families import LEARNT, order_scores
from allmlp.studies.crossover.figures import matrix

HEADS = ("task", "architecture", "skill", "least to most", "learned", "operations")
SPARE = 1.1  # of the minutes that are said: the next steps may be slower than those that were timed


class TaskTrial(NamedTuple):
    """One task: the rows of its score; steps of a training, and those that the whole budget buys."""

    task: str
    rows: pd.DataFrame
    steps: int
    whole: int
    flops: int  # counted operations of a step
    needs: float  # seconds of all its trainings with the whole budget, by the steps timed here
    scale: str  # of its sizes and budget
    capped: bool  # does the scale allow fewer steps than the budget of operations buys?
    seconds: float  # of a step
    parameters: int
    rates: tuple[float, ...]  # of the search

    @property
    def share(self) -> float:
        """Of the budget."""
        return self.steps / self.whole


def lines(committed: Mapping[str, Mapping[str, pd.DataFrame]], tried: list[TaskTrial], name: str) -> Iterator[str]:
    """The table, best first, and what its rows cost. committed: scale -> measure -> rows."""
    rows = []
    for one in tried:
        of_tasks = _join_rows(committed[one.scale], one)
        found = of_tasks.groupby(["task", "column"])["skill_1"].agg(["median", "min", "max", "count", _learnt])
        found = found.sort_values("median", ascending=False, kind="stable").reset_index()
        for task in one.rows["task"].unique():
            rows += [_row(row, one, name) for row in found[found["task"] == task].to_dict("records")]
    yield from align_columns([HEADS, *rows], left=2)
    yield "skill: 0 for the best constant answer, 1 for no error; median of the seeds. * is yours"
    yield f"learned: how many seeds have a skill of {LEARNT} or more"
    for one in tried:
        if committed[one.scale]["score"].empty:
            yield f"of scale {one.scale} nothing is committed to compare with"
        yield _describe_model(one)
        yield _budget(one, minutes(tried))
        for run in one.rows.loc[one.rows["diverged"], "run"].unique():
            yield f"{run}: diverged, its skill is that of the weights before"


def _learnt(skills: pd.Series) -> int:
    return int((skills >= LEARNT).sum())


def _join_rows(committed: Mapping[str, pd.DataFrame], tried: TaskTrial) -> pd.DataFrame:
    """The rows of a task: committed trainings and the tried ones."""
    rows, tasks = committed["score"], tried.rows["task"].unique()
    there = [order_scores(rows[rows["task"].isin(tasks)])] if len(rows) else []
    return pd.concat([*there, tried.rows], ignore_index=True)


def _row(row: dict[Any, Any], tried: TaskTrial, name: str) -> tuple[str, ...]:
    mine = row["column"] == name
    spent = tried.flops * (tried.steps if mine else tried.whole)
    span = f"{row['min']:.3f} to {row['max']:.3f}"
    learnt = f"{row['_learnt']} of {row['count']}"
    return (row["task"], f"{row['column']}{' *' * mine}", f"{row['median']:.3f}", span, learnt, f"{spent:.2g}")


def _describe_model(tried: TaskTrial) -> str:
    """Its size, speed and learning rate."""
    rate = tried.rows["learning_rate_1"].iloc[0]
    at_edge = len(tried.rates) > 1 and rate in (min(tried.rates), max(tried.rates))
    edge = ", at an edge of the search: a better one may lie beyond" if at_edge else ""
    return (
        f"{tried.task}: yours has {tried.parameters:,} parameters and takes {1000 * tried.seconds:.3g} ms a step; rate "
        f"{rate:g} of {', '.join(f'{one:g}' for one in sorted(tried.rates))}{edge}"
    )


def minutes(tried: list[TaskTrial]) -> int:
    """What --minutes must be so that each task, with an equal part of them, gets its whole budget."""
    return math.ceil(SPARE * len(tried) * max(one.needs for one in tried) / 60)


def _budget(tried: TaskTrial, needed: int) -> str:
    """What the trainings of a task cost, beside those that are committed."""
    if tried.steps == tried.whole and tried.capped:
        return f"{tried.task}: {tried.steps:,} steps, the most that {tried.scale} allows; its operations would buy more"
    if tried.steps == tried.whole:
        return f"{tried.task}: {tried.steps:,} steps, the whole budget of operations that each row of {tried.scale} had"
    return (
        f"{tried.task}: {tried.steps:,} of {tried.whole:,} steps, {tried.share:.0%} of the other rows' operations, so "
        f"not comparable. They kept no learning curve to cut, and their rate had not decayed there: give --minutes "
        f"{needed:,}, or --task {tried.task} --minutes {minutes([tried]):,}"
    )


def draw(
    committed: Mapping[str, Mapping[str, pd.DataFrame]],
    tried: list[TaskTrial],
    scale: str,
    abilities: pd.DataFrame,
    file: Path,
) -> None:
    """The matrix of the crossover with a further column, as SVG: tried tasks at their scale, others at `scale`."""
    others = committed[scale]["score"]
    known = {task for one in tried for task in one.rows["task"]}
    there = [others[~others["task"].isin(known)]] if len(others) else []
    rows = pd.concat([*(_join_rows(committed[one.scale], one) for one in tried), *there], ignore_index=True)
    with matplotlib.rc_context(style.rc()):
        figure = matrix.make(score=rows, abilities=abilities)
    save.save(figure, file, sorted(rows["run"].unique()))
