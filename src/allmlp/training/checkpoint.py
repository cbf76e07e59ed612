"""Published checkpoints: results/checkpoints/<run id>/, complete or not there. `trained` reads them.

    run.json           the run, and how it ended
    log.parquet        a row per update
    step-<n>.safetensors, final.safetensors
    manifest.json      sha256 of each of these
They hold no time: the same run gives the same bytes.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths
from allmlp.common.atomic import copy_atomically, sync
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.measurements import origins
from allmlp.measurements.origins import MADE_BY
from allmlp.spec.run import Run
from allmlp.training import stack
from allmlp.training.environment import provenance
from allmlp.training.inputs import choose_settings, parent_weights
from allmlp.training.loop import Training
from allmlp.training.out_of_memory import name_memory_error
from allmlp.training.process_group import ALONE, SingleProcess
from allmlp.training.published import TIMINGS, TrainedRun
from allmlp.training.state import WorkFolder
from allmlp.training.storage import MANIFEST, read_manifest, write_json
from allmlp.training.task import build_task

WORK = Path("work/runs")


def produce(run: Run, team: SingleProcess = ALONE) -> None:
    """Train a run, or go on with it, and publish its checkpoints. A twin in another process is refused.

    Of a team, every process trains, and the one that leads writes.
    """
    produce_stack([run], team)


def produce_stack(runs: Sequence[Run], team: SingleProcess = ALONE) -> None:
    """The same for the runs of a stack."""
    folders = {run.id: WORK / run.id for run in runs}
    with ExitStack() as held:
        for name, folder in folders.items() if team.is_leader else ():
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(hold(folder / "lock", f"run {name}"))
        left = [run for run in runs if not _is_published(run)]
        _train([run for run in left if not _is_sealed(folders[run.id])], team)
        if team.is_leader:
            for run in left:
                WorkFolder(folders[run.id]).forget()
                _publish(folders[run.id], run.folder)
        team.wait()


def _is_published(run: Run) -> bool:
    if found := _is_complete(run.folder):
        print(f"{run.id}: is trained already", flush=True)
    return found


def _is_sealed(folder: Path) -> bool:
    return (folder / "complete").is_file() and _is_complete(folder)


def _train(runs: Sequence[Run], team: SingleProcess) -> None:
    if not runs:
        return
    for run in runs:
        (WORK / run.id / "complete").unlink(missing_ok=True)
    with name_memory_error(runs[0], len(runs)):
        trainings = [_prepare(run, WORK / run.id, team) for run in runs]
        stack.train(trainings)
    for training in trainings:
        if team.is_leader:
            _seal(training, WORK / training.run.id)


def _prepare(run: Run, folder: Path, team: SingleProcess) -> Training:
    """The run's training, with its parent's weights and its search's settings."""
    parent = TrainedRun(run).parent
    weights = parent_weights(run, parent) if run.continues and parent else None
    choice = choose_settings(run, (TrainedRun(run.relatives[one]) for one in run.search)) if run.search else None
    task = build_task(run, parent, choice.task_parameters if choice else {})
    training = Training(run, folder, task=task, weights=weights, choice=choice, team=team)
    if team.is_leader:
        _note_sources(folder, training.step)
    return training


def _note_sources(folder: Path, step: int) -> None:
    """Note the sources that train a run from this step on, after those that trained it before."""
    before = _sources(folder) if step else []
    write_json(folder / MADE_BY, list(dict.fromkeys([*before, origins.process_sources()])))


def _sources(folder: Path) -> list[str]:
    """The sources that trained a run so far."""
    try:
        return list(map(str, formats.read_json(folder / MADE_BY)))
    except (UserError, TypeError):  # of an earlier release, or damaged: no reason to train again
        return [origins.NO_RECORD]


def _is_complete(folder: Path) -> bool:
    """Are all files of its manifest there, with its digests?"""
    try:
        files = read_manifest(folder)
    except formats.NewerError:
        raise
    except UserError:  # no manifest, or a damaged one
        return False
    there = "final.safetensors" in files and all((folder / name).is_file() for name in files)
    return there and all(paths.file_sha256(folder / name) == sha256 for name, sha256 in files.items())


def _seal(training: Training, folder: Path) -> None:
    run = training.run
    ending = {"steps_done": training.step, "diverged": training.diverged, "validation_loss": training.final_validation}
    described: dict[str, Any] = {"id": run.id, "settings": run.settings_digest, "run": run.identity, "ending": ending}
    if training.choice:
        described["learning_rate"] = training.choice.learning_rate
        described["chosen"] = training.choice.task_parameters
    write_json(folder / "run.json", described)
    paths.write_atomically(folder / "log.parquet", training.work.log().to_parquet(index=False, compression="zstd"))
    files = {**training.kept, **{name: paths.file_sha256(folder / name) for name in ("run.json", "log.parquet")}}
    write_json(folder / MANIFEST, files)
    origin = origins.record(_sources(folder), run.modules)
    write_json(TIMINGS / f"{run.id}.json", {"seconds": training.seconds, **provenance(run.device, origin)})
    paths.write_atomically(folder / "complete", "")


def _publish(work: Path, published: Path) -> None:
    """Copy a complete run to its place, final.safetensors last: it marks a complete folder."""
    files = sorted(read_manifest(work), key=lambda name: name == "final.safetensors")
    for name in [MANIFEST, *files]:
        copy_atomically(work / name, published / name)
    sync(published)  # before the work folder is removed


def forget(run: Run) -> None:
    """Remove the work folder of a published run."""
    with hold(WORK / run.id / "lock", f"run {run.id}"):
        shutil.rmtree(WORK / run.id, ignore_errors=True)
