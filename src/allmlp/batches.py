"""Batches of runs that one process trains, measures, or both; no batch waits for a later one."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from allmlp import outcomes, store
from allmlp.run import Run


@dataclass(frozen=True)
class Batch:
    """Runs that are trained, measured, or both in one process: short ones together.

    `together`: does the process that trains them measure them too?
    """

    name: str
    runs: tuple[Run, ...]
    together: bool = False

    @property
    def ids(self) -> str:
        """The run ids, for a command line."""
        return " ".join(run.id for run in self.runs)

    @property
    def title(self) -> str:
        """Its description for the terminal."""
        return self.runs[0].id if len(self.runs) == 1 else f"{self.runs[0].id} and {len(self.runs) - 1} more"

    @property
    def tokens(self) -> list[str]:
        """The token files that its runs read."""
        return sorted({run.token_file for run in self.runs if run.token_file})

    @property
    def checkpoints(self) -> list[str]:
        """The last weights of its runs."""
        return [run.checkpoint for run in self.runs]

    @property
    def read(self) -> list[str]:
        """The inputs of its trainings, and of its measures if `together`: tokens, and the weights of earlier runs."""
        needed = {run.relatives[one].checkpoint for run in self.runs for one in outcomes.read_by(run)}
        if self.together:
            needed |= {*self.measured} - {*self.tokens}
        return self.tokens + sorted(needed - set(self.checkpoints))

    @property
    def measured(self) -> list[str]:
        """The inputs of its measures: weights of its runs and their parents, and tokens of both."""
        parents = [run.relatives[run.parent] for run in self.runs if run.parent]
        tokens = {parent.token_file for parent in parents if parent.token_file}
        others = {parent.checkpoint for parent in parents} | tokens
        return self.checkpoints + self.tokens + sorted(others - {*self.checkpoints, *self.tokens})

    @property
    def made(self) -> list[str]:
        """The outputs of its trainings, and of its measures if `together`."""
        return self.checkpoints + (self.measurements if self.together else [])

    @property
    def measurements(self) -> list[str]:
        """The files of the missing measurements of its runs."""
        return [file for run in self.runs for file in store.lacking(run).values()]

    @property
    def gpus(self) -> int:
        """Devices that the process needs."""
        return max(run.gpus for run in self.runs)

    @property
    def cores(self) -> int:
        """CPU cores that the process needs."""
        return max(run.processes * run.threads for run in self.runs)

    @property
    def memory_mb(self) -> int:
        """A generous guess for a batch system: a GPU job stages its data in host memory."""
        return 16000 * self.gpus or 4000 * self.cores


def cut(runs: Iterable[Run], wanted: Container[str], together: bool = False) -> list[Batch]:
    """The runs with the wanted ids, in batches of one study and of at most `runs_per_process`.

    `together`: measured by the process that trains them, unless it holds a GPU or several cores, which a measure does
    not need.

    All runs are cut into batches, and then unwanted runs removed, so that the members of a batch do not depend on
    progress. Runs that others need come first, and a batch is a stretch of that order, so that it depends only on
    itself and earlier ones.
    """
    batches: list[Batch] = []
    for study, of_study in groupby(runs, key=lambda run: run.study):
        for number, members in enumerate(_stretches(ordered(list(of_study))), 1):
            if chosen := tuple(run for run in members if run.id in wanted):
                small = not any(run.gpus or run.processes * run.threads > 1 for run in chosen)
                batches.append(Batch(f"{study}_{number}", chosen, together and small))
    return batches


def ordered(runs: Sequence[Run]) -> list[Run]:
    """Runs that others need first; otherwise in the given order, grouped by `runs_per_process`."""
    first = {size: place for place, size in reversed(list(enumerate(run.runs_per_process for run in runs)))}
    return sorted(runs, key=lambda run: (run.depth, first[run.runs_per_process]))


def _stretches(runs: list[Run]) -> Iterable[Sequence[Run]]:
    for size, group in groupby(runs, key=lambda run: run.runs_per_process):
        members = list(group)
        yield from (members[start : start + size] for start in range(0, len(members), size))


def unmeasured(run: Run) -> bool:
    """Does it lack a measurement?"""
    return bool(store.lacking(run))


def to_train(runs: Iterable[Run], lacking: Iterable[Run]) -> set[str]:
    """The ids of the runs to train: those that `lacking` need, and the runs that these need in turn.

    `lacking`: the runs with missing measurements, which may read the run's parent. A measured run is trained again only
    if a run that needs it is trained.
    """
    by_id = {run.id: run for run in runs}
    waiting = [one for run in lacking for one in (run.id, run.parent) if one]
    found: set[str] = set()
    while waiting:
        run = by_id[waiting.pop()]
        if run.id not in found and not Path(run.checkpoint).is_file():
            found.add(run.id)
            waiting += outcomes.read_by(run)
    return found
