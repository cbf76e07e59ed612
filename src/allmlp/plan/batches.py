"""Batches of runs that one process trains or measures; no batch waits for a later one."""

import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from allmlp.common import paths
from allmlp.measurements import search_losses, store
from allmlp.spec.run import Run


@dataclass(frozen=True)
class Batch:
    """Runs of one study that share the start of a process: short ones together.

    `to_train`, `to_measure`: those of its runs that something open needs trained, and those that lack a measurement.
    """

    name: str
    runs: tuple[Run, ...]
    to_train: tuple[Run, ...] = ()
    to_measure: tuple[Run, ...] = ()

    @property
    def training_manifest(self) -> str:
        """What its training makes for Snakemake (`allmlp.pipeline.manifests`)."""
        return f"work/trained/{self.name}.json"

    @property
    def measuring_manifest(self) -> str:
        """What its measures make for Snakemake."""
        return f"work/measured/{self.name}.json"

    @property
    def gpus(self) -> int:
        """Devices that its training needs."""
        return max(run.gpus for run in self.runs)

    @property
    def cores(self) -> int:
        """CPU cores that its training needs."""
        return max(run.processes * run.threads for run in self.runs)

    @property
    def memory_mb(self) -> int:
        """A generous guess for a batch system: a GPU job stages its data in host memory."""
        return 16000 * self.gpus or 4000 * self.cores


def make_batches(
    runs: Iterable[Run], to_train: Container[str] = (), to_measure: Container[str] = ()
) -> dict[str, Batch]:
    """name -> batch of at most `runs_per_process` runs. Runs that others need come first, and a batch is a stretch of
    that order, so that it depends only on itself and earlier ones.

    All runs are cut, whichever are done, so that names and members do not depend on progress.
    """
    found = {}
    for study, of_study in groupby(runs, key=lambda run: run.study):
        for members in _stretches(order_runs(list(of_study))):
            training, measuring = (tuple(run for run in members if run.id in of) for of in (to_train, to_measure))
            name = batch_name(study, members)
            found[name] = Batch(name, tuple(members), training, measuring)
    return found


def batch_name(study: str, runs: Sequence[Run]) -> str:
    """The study, the words that the runs' names have in common, and a digest: like an id, it names the content."""
    first, *others = [run.id.rpartition("-")[0].split("-") for run in runs]
    words = [word for word in first if all(word in other for other in others)]
    digest = paths.digest([run.id for run in runs]) if others else runs[0].id.rpartition("-")[2]
    return "-".join([study, *words, digest])


def study_name(name: str) -> str:
    """The study of a batch, the only one that its job looks up in the store."""
    return name.partition("-")[0]


def order_runs(runs: Sequence[Run]) -> list[Run]:
    """Runs that others need first; otherwise in the given order, grouped by `runs_per_process`."""
    first = {size: place for place, size in reversed(list(enumerate(run.runs_per_process for run in runs)))}
    return sorted(runs, key=lambda run: (run.depth, first[run.runs_per_process]))


def _stretches(runs: list[Run]) -> Iterable[Sequence[Run]]:
    for size, group in groupby(runs, key=lambda run: run.runs_per_process):
        members = list(group)
        yield from (members[start : start + size] for start in range(0, len(members), size))


def is_unmeasured(run: Run) -> bool:
    """Does it lack a measurement?"""
    return bool(store.missing_files(run))


def runs_to_train(runs: Iterable[Run], lacking: Iterable[Run]) -> set[str]:
    """The ids of the runs to train: those that `lacking` need, and the runs that these need in turn.

    `lacking`: the runs with missing measurements, which may read the run's parent. A measured run is trained again only
    if a run that needs it is trained.
    """
    by_id = {run.id: run for run in runs}
    waiting = [one for run in lacking for one in (run.id, run.parent) if one]
    found: set[str] = set()
    while waiting:
        run = by_id[waiting.pop()]
        if run.id not in found and not os.path.isfile(run.checkpoint):
            found.add(run.id)
            waiting += search_losses.runs_it_reads(run)
    return found
