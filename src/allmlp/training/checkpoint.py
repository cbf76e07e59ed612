"""Published checkpoints: results/checkpoints/<run id>/, complete or not there, and how measures read them.

    run.json           the run, and how it ended
    log.parquet        a row per update
    step-<n>.safetensors, final.safetensors
    final-state.safetensors    weights and optimiser, for a longer twin; only of runs that ask for it
    manifest.json      sha256 of each of these
Nothing in them tells the time: the same run gives the same bytes.
"""

import json
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from allmlp import models, paths
from allmlp.errors import UserError
from allmlp.models.base import SequenceModel
from allmlp.run import Run
from allmlp.tasks.task import Task
from allmlp.training.environment import provenance
from allmlp.training.locks import hold
from allmlp.training.loop import Training, build_task
from allmlp.training.relatives import chosen, continued
from allmlp.training.state import tensors_of
from allmlp.training.storage import MANIFEST, read_json, read_tensors, write_json, write_tensors
from allmlp.training.twins import STATE, begin_where_twin_ended

WORK, TIMINGS = Path("work/runs"), Path("work/timings")


def produce(run: Run) -> None:
    """Train a run, or go on with it, and publish its checkpoints. A twin in another process is refused."""
    folder = WORK / run.id
    folder.mkdir(parents=True, exist_ok=True)
    with hold(folder / "lock", f"run {run.id}"):
        if _published(run):
            print(f"{run.id}: is trained already", flush=True)
            return
        if not (folder / "complete").is_file():
            training = _prepared(run, folder)
            training.train()
            _seal(training, folder)
        _publish(folder, run.folder)


def _prepared(run: Run, folder: Path) -> Training:
    """The run's training, with what it takes from its parent and its search."""
    parent = Trained(run).parent
    weights = continued(run, parent) if run.continues and parent else None
    begin_where_twin_ended(run, folder, TIMINGS)
    choice = chosen(run, (Trained(run.relatives[one]) for one in run.search)) if run.search else None
    task = build_task(run, parent, choice.task_parameters if choice else {})
    return Training(run, folder, task=task, weights=weights, choice=choice)


def _published(run: Run) -> bool:
    """Are all its files there, as its manifest says?"""
    manifest = run.folder / MANIFEST
    files: dict[str, str] = read_json(manifest) if manifest.is_file() else {}
    there = all((run.folder / name).is_file() for name in files) and "final.safetensors" in files
    return there and all(paths.file_sha256(run.folder / name) == sha256 for name, sha256 in files.items())


def _seal(training: Training, folder: Path) -> None:
    run = training.run
    ending = {
        "steps_done": training.step,
        "diverged": training.diverged,
        "validation_loss": training.final_validation,
    }
    described: dict[str, Any] = {"id": run.id, "settings": run.settings_digest, "run": run.identity, "ending": ending}
    if training.choice:
        described["learning_rate"] = training.choice.learning_rate
        described["chosen"] = training.choice.task_parameters
    write_json(folder / "run.json", described)
    paths.write_whole(folder / "log.parquet", training.work.log().to_parquet(index=False, compression="zstd"))
    if run.keeps_state and not training.diverged:
        training.kept[STATE] = write_tensors(folder / STATE, tensors_of(training.model, training.optimiser))
    files = {
        **training.kept,
        **{name: paths.file_sha256(folder / name) for name in ("run.json", "log.parquet")},
    }
    write_json(folder / MANIFEST, files)
    write_json(TIMINGS / f"{run.id}.json", {"seconds": training.seconds, **provenance(run.device)})
    (folder / "complete").touch()


def _publish(work: Path, published: Path) -> None:
    """Copy a complete run to its place, the file that stands for the whole last."""
    published.mkdir(parents=True, exist_ok=True)
    files = sorted(read_json(work / MANIFEST), key=lambda name: name == "final.safetensors")
    for name in [MANIFEST, *files]:
        beside = published / f".{name}"
        shutil.copyfile(work / name, beside)
        beside.replace(published / name)


def forget(run: Run) -> None:
    """Remove a published run's work folder: nothing of it is needed any more."""
    with hold(WORK / run.id / "lock", f"run {run.id}"):
        shutil.rmtree(WORK / run.id, ignore_errors=True)


class Trained:
    """One run's published checkpoints, as measures see them. Every file is checked against the manifest when read."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._way_out = f"delete {run.folder} and run again, or `dvc checkout {run.folder}`."

    @cached_property
    def _manifest(self) -> dict[str, str]:
        return read_json(self.run.folder / MANIFEST)

    @cached_property
    def _described(self) -> dict[str, Any]:
        return read_json(self.run.folder / "run.json")

    @property
    def ending(self) -> dict[str, Any]:
        """How it ended: steps_done, diverged, validation_loss (nats, None where nothing is held out)."""
        return self._described["ending"]

    @property
    def learning_rate(self) -> float:
        """The maximum of the learning rate that it was trained with: its own, or the one that its search chose."""
        return self._described.get("learning_rate", self.run.optimiser["learning_rate"])

    @property
    def chosen(self) -> dict[str, Any]:
        """The parameters of the task that its search chose, where the run leaves them open."""
        return self._described.get("chosen", {}) if self.run.search else {}

    @cached_property
    def parent(self) -> "Trained | None":
        """The run that this one reads or continues, None for a run without one."""
        return Trained(self.run.relatives[self.run.parent]) if self.run.parent else None

    @property
    def diverged(self) -> bool:
        """Did the training stop at a loss that was not finite?"""
        return self.ending["diverged"]

    @property
    def log(self) -> pd.DataFrame:
        """The training log: step, loss, learning_rate, gradient_norm, scores, validation_loss; a row per update."""
        path = self.run.folder / "log.parquet"
        if not path.is_file() or paths.file_sha256(path) != self._manifest["log.parquet"]:
            raise UserError(f"{path}: is missing or damaged; {self._way_out}")
        return pd.read_parquet(path)

    @property
    def steps(self) -> list[int]:
        """The steps whose weights are there, the last one included."""
        kept = [int(name.removeprefix("step-").split(".")[0]) for name in self._manifest if name.startswith("step-")]
        return sorted({*kept, self.ending["steps_done"]})

    def weights(self, step: int | None = None) -> dict[str, torch.Tensor]:
        """The weights after `step` updates (None: the last)."""
        name = "final.safetensors" if step in (None, self.ending["steps_done"]) else f"step-{step}.safetensors"
        if name not in self._manifest:
            raise UserError(f"{self.run.folder}: no weights at step {step}. There are: {self.steps}.")
        return read_tensors(self.run.folder / name, self._manifest[name], self._way_out)

    def model(self, step: int | None = None) -> SequenceModel:
        """The model with those weights, in eval mode."""
        model = models.build(self.run.architecture, **self.run.hyperparameters)
        model.load_state_dict(self.weights(step))
        return model.eval()

    def task(self) -> Task:
        """The run's task."""
        return build_task(self.run, self.parent, self.chosen)

    def timing(self) -> dict[str, Any]:
        """Seconds and hardware of the training, where this machine did it; else empty."""
        path = TIMINGS / f"{self.run.id}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
