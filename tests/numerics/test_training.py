"""A whole training: its log, its held-out losses, its saved states, signals, deadlines."""

import json
import math
import os
import re
import signal
import time
from pathlib import Path

import pytest
import torch

from allmlp.common import deadline, paths
from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.task import Batch, Task
from allmlp.spec.run import Run
from allmlp.training.loop import Training, validation_loss
from allmlp.training.storage import read_tensors
from allmlp.training.task import build_task
from tests import tiny
from tests.tiny import Uneven


def held_out_run(**changes: object) -> Run:
    return tiny.run("transformer", steps=6, **{"keep": (0, 3), "tested": (5,), **changes})


def held_out_training(folder: Path, run: Run) -> Training:
    return Training(run, folder, task=Uneven(build_task(run)))  # type: ignore[arg-type]


def test_a_training_leaves_its_log_its_kept_weights_and_its_held_out_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = held_out_run()
    training = held_out_training(tmp_path, run)
    first = validation_loss(training.loss, training.held_out, "cpu")
    initial = {name: value.clone() for name, value in training.model.state_dict().items()}
    training.train()
    log = training.work.log()
    assert log.step.tolist() == list(range(6))
    assert log.index[log.validation_loss.notna()].tolist() == [0, 3, 5]
    assert log.validation_loss[0] == first
    last = validation_loss(training.loss, training.held_out, "cpu")
    assert training.final_validation == last != first
    assert (training.step, training.diverged) == (6, False)
    assert training.kept == {
        f"{name}.safetensors": paths.file_sha256(tmp_path / f"{name}.safetensors")
        for name in ("step-0", "step-3", "final")
    }
    for name, weights in (("step-0", initial), ("final", training.model.state_dict())):
        kept = read_tensors(tmp_path / f"{name}.safetensors", training.kept[f"{name}.safetensors"], "")
        assert all(torch.equal(value, weights[key]) for key, value in kept.items())
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{run.id}: 6 steps"
    assert re.fullmatch(rf"{run.id}: done, \d+\.\d s", shown[-1])
    assert len(shown) == 2
    assert not list(tmp_path.glob("state-*")), "it took less than SAVE_SECONDS"


def test_held_out_losses_are_taken_in_eval_mode_without_gradients_and_training_goes_on(tmp_path: Path) -> None:
    training = held_out_training(tmp_path, held_out_run())
    modes: list[tuple[bool, bool, str]] = []

    def forward(batch: Batch) -> tuple[torch.Tensor, None]:
        modes.append((training.model.training, torch.is_grad_enabled(), batch.tokens.device.type))
        return torch.tensor(2.0), None

    training.loss.forward = forward  # type: ignore[assignment,method-assign]
    assert validation_loss(training.loss, training.held_out, "meta") == 2.0
    assert modes == [(False, False, "meta")] * 3
    assert training.model.training
    assert validation_loss(training.loss, [], "cpu") is None


def test_without_a_held_out_split_no_such_loss_is_logged(tmp_path: Path) -> None:
    training = Training(tiny.run("transformer", steps=2, keep=(0,)), tmp_path)
    training.train()
    assert list(training.work.log()) == [
        "step",
        "loss",
        "learning_rate",
        "gradient_norm",
        "token_accuracy",
        "string_accuracy",
    ]
    assert training.final_validation is None


class Clock(Uneven):
    """A clock on which a batch takes 15 seconds."""

    def __init__(self, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(task)
        self.now = 500.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def batch(self, seed: int, step: int) -> Batch:
        self.now += 15.0
        return super().batch(seed, step)


def test_states_are_saved_every_thirty_seconds_with_the_seconds_of_the_updates_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = held_out_run(keep=(5,), tested=())
    clock = Clock(build_task(run), monkeypatch)
    training = Training(run, tmp_path, task=clock)  # type: ignore[arg-type]
    plain = training.loss.forward

    def slow(batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        clock.now += 0.0 if training.model.training else 300.0  # of three held-out batches
        return plain(batch)

    training.loss.forward, training.seconds = slow, 7.0  # type: ignore[method-assign]
    training.train()
    assert training.seconds == pytest.approx(97.0)
    (state,) = tmp_path.glob("state-*.json")  # after 45 seconds, not after 30
    saved = json.loads(state.read_text())
    assert {key: saved[key] for key in ("step", "seconds", "kept")} == {"step": 3, "seconds": 52.0, "kept": {}}
    shown = capsys.readouterr().out.splitlines()
    loss = training.work.log().loss[3]
    assert shown[4] == f"{run.id}: step 4 of 6, loss {loss:.4f}, 1 supervised tokens/s, 0:30 left"
    assert shown[-1] == f"{run.id}: done, 1890.0 s"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_lets_the_update_end_saves_and_leaves(
    number: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Copying):
        def batch(self, seed: int, step: int) -> Batch:
            if step == 2:
                os.kill(os.getpid(), number)
            return super().batch(seed, step)

    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "3600")
    handler, run = signal.getsignal(number), tiny.run("transformer", keep=(1,))
    training = Training(run, tmp_path, task=Stopped(4, 4))
    with pytest.raises(SystemExit) as left:
        training.train()
    assert left.value.code == status
    assert signal.getsignal(number) is handler
    assert [path.name for path in tmp_path.glob("state-*.json")] == ["state-3.json"]
    assert Training(run, tmp_path).step == len(training.work.log()) == 3


def test_at_a_pause_of_nothing_every_step_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    Training(tiny.run("transformer", steps=6, keep=()), tmp_path).train()
    assert sorted(path.name for path in tmp_path.glob("state-*.json")) == ["state-4.json", "state-5.json"]


def test_past_the_deadline_a_training_saves_and_leaves_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(deadline.VARIABLE, "1")
    run = tiny.run("transformer")
    with pytest.raises(SystemExit) as left:
        Training(run, tmp_path).train()
    assert left.value.code == deadline.STATUS
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"{run.id}: step 0 of 12: left at the deadline; the same command goes on later"
    )
    assert [path.name for path in tmp_path.glob("state-*.json")] == ["state-0.json"]


def test_a_training_that_diverges_ends_there_and_logs_no_row_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Breaking(Copying):
        def batch(self, seed: int, step: int) -> Batch:
            if step == 2:
                torch.nn.init.constant_(next(iter(training.model.parameters())), math.nan)
            return super().batch(seed, step)

    run = tiny.run("transformer", keep=())
    training = Training(run, tmp_path, task=Breaking(4, 4))
    training.train()
    assert (training.step, training.diverged, training.work.log().step.tolist()) == (2, True, [0, 1])
    assert list(training.kept) == ["final.safetensors"]
    shown = capsys.readouterr().out.splitlines()[-1]
    assert shown.startswith(f"{run.id}: diverged at step 2; the weights before it are kept, ")


def test_only_the_loss_of_updates_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(torch, "compile", lambda forward: compiled.append(forward) or forward)
    Training(tiny.run("transformer"), tmp_path / "plain")
    assert compiled == []
    training = Training(tiny.run("transformer", compile=True), tmp_path / "compiled")
    assert compiled == [training.model]
