"""Published checkpoints: results/checkpoints/<run id>/, complete or not there. `trained` reads them.

    run.json           the run, and how it ended
    log.parquet        a row per update
    step-<n>.safetensors, final.safetensors
    final-state.safetensors    weights and optimiser, for a longer twin; only of runs that ask for it
    manifest.json      sha256 of each of these
They hold no time: the same run gives the same bytes.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from allmlp import artifacts, origins, paths
from allmlp.errors import UserError
from allmlp.locks import hold
from allmlp.origins import MADE_BY
from allmlp.run import Run
from allmlp.training import stack
from allmlp.training.building import build_task
from allmlp.training.environment import provenance
from allmlp.training.exhausted import memory_named
from allmlp.training.loop import Training
from allmlp.training.relatives import chosen, continued
from allmlp.training.state import WorkFolder, tensors_of
from allmlp.training.storage import MANIFEST, read_manifest, write_json
from allmlp.training.team import ALONE, Alone
from allmlp.training.trained import TIMINGS, Trained
from allmlp.training.twins import STATE, begin_where_twin_ended
from allmlp.whole import copy_whole, sync

WORK = Path("work/runs")


def produce(run: Run, team: Alone = ALONE) -> None:
    """Train a run, or go on with it, and publish its checkpoints. A twin in another process is refused.

    Of a team, every process trains, and the one that leads writes.
    """
    produce_stack([run], team)


def produce_stack(runs: Sequence[Run], team: Alone = ALONE) -> None:
    """The same for the runs of a stack."""
    folders = {run.id: WORK / run.id for run in runs}
    with ExitStack() as held:
        for name, folder in folders.items() if team.leads else ():
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(hold(folder / "lock", f"run {name}"))
        left = [run for run in runs if not _is_published(run)]
        _train([run for run in left if not _is_sealed(folders[run.id])], team)
        if team.leads:
            for run in left:
                WorkFolder(folders[run.id]).forget()
                _publish(folders[run.id], run.folder)
        team.wait()


def _is_published(run: Run) -> bool:
    if found := _is_whole(run.folder):
        print(f"{run.id}: is trained already", flush=True)
    return found


def _is_sealed(folder: Path) -> bool:
    return (folder / "complete").is_file() and _is_whole(folder)


def _train(runs: Sequence[Run], team: Alone) -> None:
    if not runs:
        return
    for run in runs:
        (WORK / run.id / "complete").unlink(missing_ok=True)
    with memory_named(runs[0], len(runs)):
        trainings = [_prepared(run, WORK / run.id, team) for run in runs]
        stack.train(trainings)
    for training in trainings:
        if training.run.keeps_state and not training.diverged:
            training.publish(STATE, tensors_of(training.model, training.optimiser))
        if team.leads:
            _seal(training, WORK / training.run.id)


def _prepared(run: Run, folder: Path, team: Alone) -> Training:
    """The run's training, with its parent's weights and its search's settings."""
    parent = Trained(run).parent
    weights = continued(run, parent) if run.continues and parent else None
    begun = begin_where_twin_ended(run, folder, TIMINGS)
    choice = chosen(run, (Trained(run.relatives[one]) for one in run.search)) if run.search else None
    task = build_task(run, parent, choice.task_parameters if choice else {})
    training = Training(run, folder, task=task, weights=weights, choice=choice, team=team)
    if team.leads:
        _note_sources(folder, training.step, begun)
    return training


def _note_sources(folder: Path, step: int, twin: list[str]) -> None:
    """Note the sources that train a run from this step on, after those that trained it before."""
    before = (twin or _sources(folder)) if step else []
    write_json(folder / MADE_BY, list(dict.fromkeys([*before, origins.here()])))


def _sources(folder: Path) -> list[str]:
    """The sources that trained a run so far."""
    try:
        return list(map(str, artifacts.read_json(folder / MADE_BY)))
    except (UserError, TypeError):  # of an earlier release, or damaged: no reason to train again
        return [origins.NO_RECORD]


def _is_whole(folder: Path) -> bool:
    """Are all files of its manifest there, with its digests?"""
    try:
        files = read_manifest(folder)
    except artifacts.NewerError:
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
    paths.write_whole(folder / "log.parquet", training.work.log().to_parquet(index=False, compression="zstd"))
    files = {**training.kept, **{name: paths.file_sha256(folder / name) for name in ("run.json", "log.parquet")}}
    write_json(folder / MANIFEST, files)
    origin = origins.record(_sources(folder), run.modules)
    write_json(TIMINGS / f"{run.id}.json", {"seconds": training.seconds, **provenance(run.device, origin)})
    paths.write_whole(folder / "complete", "")


def _publish(work: Path, published: Path) -> None:
    """Copy a complete run to its place, final.safetensors last: it marks a complete folder."""
    files = sorted(read_manifest(work), key=lambda name: name == "final.safetensors")
    for name in [MANIFEST, *files]:
        copy_whole(work / name, published / name)
    sync(published)  # before the work folder is removed


def forget(run: Run) -> None:
    """Remove the work folder of a published run."""
    with hold(WORK / run.id / "lock", f"run {run.id}"):
        shutil.rmtree(WORK / run.id, ignore_errors=True)
