"""One run's published checkpoints, as measures and longer runs read them."""

from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from allmlp import models
from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.data.tasks.task import Task
from allmlp.models.base import SequenceModel
from allmlp.spec.run import Run
from allmlp.training.storage import read_log, read_manifest, read_tensors
from allmlp.training.task import build_task

TIMINGS = Path("work/timings")


def fetch_advice(folder: Path, otherwise: str) -> str:
    """How to get a folder of results that is not here: `otherwise`, or from a remote of DVC."""
    return f"`dvc pull {folder}` fetches them, or {otherwise}" if has_pointer(folder) else otherwise


def has_pointer(folder: Path) -> bool:
    """Has DVC a pointer to this folder of results?"""
    return Path(f"{folder}.dvc").is_file()


def load_trained_run(run: Run) -> "TrainedRun":
    """A run's checkpoints. UserError, with the way to get them, if they are not here."""
    if not run.folder.is_dir():
        raise UserError(
            f"{run.folder}: is not here; {fetch_advice(run.folder, f'`allmlp train {run.id}` makes them')}."
        )
    return TrainedRun(run)


class TrainedRun:
    """One run's published checkpoints, as measures see them. Every file is checked against the manifest when read."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._way_out = f"delete {run.folder} and run again, or `dvc checkout {run.folder}`."

    @cached_property
    def _manifest(self) -> dict[str, str]:
        return read_manifest(self.run.folder, self._way_out)

    @cached_property
    def _description(self) -> dict[str, Any]:
        return formats.read("checkpoint", self._check_file("run.json"), self._way_out)

    def _check_file(self, name: str) -> Path:
        """A file, if it is as the manifest has it."""
        path = self.run.folder / name
        if not path.is_file() or paths.file_sha256(path) != self._manifest.get(name):
            raise UserError(f"{path}: is missing or damaged; {self._way_out}")
        return path

    @property
    def ending(self) -> dict[str, Any]:
        """How it ended: steps_done, diverged, validation_loss (nats, None without a held-out split)."""
        return self._description["ending"]

    @property
    def learning_rate(self) -> float:
        """The maximum of its learning rate: the run's own, or the one that its search chose."""
        return self._description.get("learning_rate", self.run.optimiser["learning_rate"])

    @property
    def choice(self) -> dict[str, Any]:
        """The task's parameters that its search chose, where the run leaves them open."""
        return self._description.get("chosen", {}) if self.run.search else {}

    @cached_property
    def parent(self) -> "TrainedRun | None":
        """The run that this one reads or continues, None for a run without one."""
        return TrainedRun(self.run.relatives[self.run.parent]) if self.run.parent else None

    @property
    def diverged(self) -> bool:
        """Did the training stop at a loss that was not finite?"""
        return self.ending["diverged"]

    @property
    def log(self) -> pd.DataFrame:
        """The training log: step, loss, learning_rate, gradient_norm, scores, validation_loss; a row per update."""
        return read_log(self._check_file("log.parquet"), self._way_out)

    @property
    def steps(self) -> list[int]:
        """The steps with kept weights, the last step included."""
        kept = [int(name.removeprefix("step-").split(".")[0]) for name in self._manifest if name.startswith("step-")]
        return sorted({*kept, self.ending["steps_done"]})

    def weights(self, step: int | None = None) -> dict[str, torch.Tensor]:
        """The weights after `step` updates (None: the last)."""
        name = "final.safetensors" if step in (None, self.ending["steps_done"]) else f"step-{step}.safetensors"
        if name not in self._manifest:
            raise UserError(f"{self.run.folder}: no weights at step {step}. There are: {self.steps}.")
        if not (self.run.folder / name).is_file():  # released, or lost
            way = fetch_advice(self.run.folder, f"`allmlp train {self.run.id}` makes them again")
            raise UserError(f"{self.run.folder / name}: is not here; {way}.")
        return read_tensors(self.run.folder / name, self._manifest[name], self._way_out)

    def model(self, step: int | None = None) -> SequenceModel:
        """The model with those weights, in eval mode."""
        model = models.build(self.run.architecture, **self.run.hyperparameters)
        try:
            model.load_state_dict(self.weights(step))
        except RuntimeError as error:
            said = " ".join(str(error).split())[:300]
            raise UserError(f"{self.run.folder}: has not the weights of the run ({said}); {self._way_out}") from None
        return model.eval()

    def task(self) -> Task:
        """The run's task."""
        return build_task(self.run, self.parent, self.choice)

    def timing(self) -> dict[str, Any]:
        """Seconds and hardware of the training if this machine did it, else empty."""
        path = TIMINGS / f"{self.run.id}.json"
        return formats.read_json(path) if path.is_file() else {}
