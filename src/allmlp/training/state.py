"""The resumable state of a running training, in work/runs/<run id>/: weights, optimiser, step, log.

Two states are kept: if the newer one is damaged, or the log before it, the older one is used. While a new one is
written there is one before it, so that a large model needs the room of two.
"""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from allmlp.common import formats, paths
from allmlp.common.atomic import sync
from allmlp.common.errors import UserError
from allmlp.training import state_file
from allmlp.training.process_group import shard_like
from allmlp.training.state_file import BACK, LOG
from allmlp.training.storage import read_tensors, write_json, write_tensors


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    states = optimiser.state_dict()["state"]
    return {f"optimiser.{index}.{key}": value for index, state in states.items() for key, value in state.items()}


def training_tensors(model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Weights and optimiser, by name: the state of a training besides its log."""
    return {f"model.{name}": value for name, value in model.state_dict().items()} | _optimiser_tensors(optimiser)


class WorkFolder:
    """work/runs/<run id>: the state from which a killed training goes on, with the same result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._whole: int | None = None  # the step of the state that was written or read last
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, step: int, tensors: dict[str, torch.Tensor], seconds: float, kept: dict[str, str]) -> None:
        """Save `training_tensors` a training before update number `step`; `kept`: sha256 of the weights kept so far."""
        if step == self._whole:
            return
        self._remove_others(self._whole)  # if there is a later one, it is damaged
        digest = write_tensors(self.folder / f"state-{step}.safetensors", tensors)
        log = self.folder / LOG
        if log.is_file():
            sync(log)
        said = state_file.describe_checkpoint(step, digest, seconds, kept, log.read_bytes() if log.is_file() else b"")
        write_json(self.folder / f"state-{step}.json", said)
        self._whole = step

    def forget(self) -> None:
        """Remove all states, of a training that has ended: its folder stays until its whole job has."""
        self._remove_others(None)

    def _remove_others(self, step: int | None) -> None:
        """Remove all other states, and what a kill left of them."""
        for path in sorted(self.folder.glob("*state-*")):  # a description before what it describes
            if path.stem != f"state-{step}":
                path.unlink()

    def steps(self) -> list[int]:
        """The steps of the states that are here, damaged ones too."""
        return sorted(int(path.stem.removeprefix("state-")) for path in self.folder.glob("state-*.json"))

    def restore(
        self, model: torch.nn.Module, optimiser: torch.optim.Optimizer, latest: float = math.inf
    ) -> dict[str, Any] | None:
        """Load the newest undamaged state, of step `latest` at most, into model and optimiser. None without one."""
        for step in (one for one in reversed(self.steps()) if one <= latest):
            try:
                found = state_file.read(self.folder, step)
                tensors = read_tensors(self.folder / f"state-{step}.safetensors", found["sha256"], BACK)
            except formats.NewerError:
                raise
            except UserError as error:
                print(error, flush=True)
                continue
            own = model.state_dict()
            weights = {name.removeprefix("model."): one for name, one in tensors.items() if name.startswith("model.")}
            model.load_state_dict({name: shard_like(one, own.get(name, one)) for name, one in weights.items()})
            self._restore_optimiser(optimiser, tensors)
            self._cut_log(step)
            self._whole = step
            return found
        self._cut_log(0)
        return None

    def _restore_optimiser(self, optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        weights = [weight for group in optimiser.param_groups for weight in group["params"]]
        for name, value in tensors.items():
            if name.startswith("optimiser."):
                _, index, key = name.split(".", 2)
                state.setdefault(int(index), {})[key] = (
                    value if key == "step" else shard_like(value, weights[int(index)])
                )
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})

    def append_log(self, rows: list[dict[str, Any]]) -> None:
        """Append rows to the running log."""
        with (self.folder / LOG).open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)

    def _cut_log(self, step: int) -> None:
        """Keep the rows of updates before `step`. Later rows, and a line cut off by a kill, will be written again."""
        path = self.folder / LOG
        if path.is_file():
            paths.write_atomically(path, state_file.rows(path.read_bytes(), step))

    def log(self) -> pd.DataFrame:
        """The log so far, a row per update."""
        path = self.folder / LOG
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        rows = [json.loads(line) for line in lines]
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["step", "loss", "learning_rate", "gradient_norm"])
