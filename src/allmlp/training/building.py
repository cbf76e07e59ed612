"""What a run is trained on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allmlp import tasks
from allmlp.run import Run
from allmlp.tasks.task import Task


def build_task(run: Run, parent: Any = None, chosen: Mapping[str, Any] | None = None) -> Task:
    """The run's task; one that reads tokens is given their folder, one that reads the parent `parent`, trained.

    `chosen` are parameters that the run leaves to its search.
    """
    where: dict[str, Any] = {"tokens": Path("results/tokens") / run.tokens} if run.tokens else {}
    if tasks.load(run.task).reads_parent:
        where["parent"] = parent
    return tasks.build(run.task, **{**run.task_parameters, **(chosen or {})}, **where)
