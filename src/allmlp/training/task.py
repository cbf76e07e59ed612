"""The task of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allmlp.data import tasks
from allmlp.data.tasks.task import Task
from allmlp.spec.run import Run


def build_task(run: Run, parent: Any = None, chosen: Mapping[str, Any] | None = None) -> Task:
    """The run's task, with the folder of its tokens and, if it reads one, the trained `parent`.

    `chosen`: the task's parameters from the run's search.
    """
    where: dict[str, Any] = {"tokens": Path("results/tokens") / run.tokens} if run.tokens else {}
    if tasks.load(run.task).reads_parent:
        where["parent"] = parent
    return tasks.build(run.task, **{**run.task_parameters, **(chosen or {})}, **where)
