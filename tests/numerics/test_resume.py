"""Killed at any step and started again, every architecture ends with the same bits."""

import itertools
import os
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from allmlp.common import deadline, paths
from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training import checkpoint
from allmlp.training.loop import POLITE
from allmlp.training.published import TrainedRun
from allmlp.training.state import WorkFolder
from tests import tiny


def in_a_fork(work: Callable[[], None]) -> int:
    """Start `work` in a fork of this process, which has torch loaded already. Returns its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return pid


def ended(pid: int) -> int:
    """Wait for a fork. Returns its exit status, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def digests(run: Run) -> dict[str, str]:
    """Every published file of a run."""
    return {path.name: paths.file_sha256(path) for path in sorted(run.folder.iterdir())}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the tokens of the tiny runs; the state is saved at every step."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    torch.set_num_threads(1)
    tiny.write_tokens(tmp_path)
    return tmp_path


def uninterrupted(run: Run) -> dict[str, str]:
    """The files of the run trained without a stop, which are then removed."""
    assert ended(in_a_fork(lambda: checkpoint.produce(run))) == 0
    files = digests(run)
    for name in ("results/checkpoints", "work"):
        os.rename(name, f"{name}-uninterrupted")
    return files


def killed_once(run: Run, number: int, after_step: int) -> int:
    """Start the run and send it a signal once it has logged `after_step` steps. Returns its status."""
    log = checkpoint.WORK / run.id / "log.jsonl"
    before = log.read_bytes().count(b"\n") if log.is_file() else 0
    pid = in_a_fork(lambda: checkpoint.produce(run))
    while (not log.is_file() or log.read_bytes().count(b"\n") < max(before, after_step)) and os.waitid(
        os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
    ) is None:
        time.sleep(0.0005)
    os.kill(pid, number)
    return ended(pid)


def killed_on_the_way(run: Run, after_step: int) -> None:
    """Kill the run before it ends. Where the machine lets it end first, it begins again."""
    for _ in range(20):
        if killed_once(run, signal.SIGKILL, after_step) == -signal.SIGKILL:
            return
        shutil.rmtree(run.folder)
    pytest.fail(f"{run.id} ended before each of 20 kills")


@pytest.mark.parametrize("architecture", tiny.ALL)
def test_kill_and_resume_end_with_the_same_bits(architecture: str, here: Path) -> None:
    run = tiny.run(architecture)
    expected = uninterrupted(run)
    step = random.Random(architecture).randrange(1, run.steps - 2)
    killed_on_the_way(run, step)
    checkpoint.produce(run)
    assert digests(run) == expected


@pytest.mark.slow
@pytest.mark.parametrize("architecture", tiny.ALL)
def test_many_kills_at_random_steps(architecture: str, here: Path) -> None:
    run = tiny.run(architecture, steps=60)
    expected, draw, kills = uninterrupted(run), random.Random(architecture), 0
    while kills < 6 and not (run.folder / "final.safetensors").is_file():
        kills += killed_once(run, signal.SIGKILL, draw.randrange(60)) == -signal.SIGKILL
    assert kills
    checkpoint.produce(run)
    assert digests(run) == expected


@pytest.mark.parametrize("number", POLITE)
def test_a_polite_signal_saves_and_goes_on(number: int, here: Path) -> None:
    run = tiny.run("transformer", steps=100)
    expected = uninterrupted(run)
    os.environ["ALLMLP_SAVE_SECONDS"] = "3600"
    assert killed_once(run, number, 5) != 0
    assert list((checkpoint.WORK / run.id).glob("state-*.safetensors"))
    checkpoint.produce(run)
    assert digests(run) == expected


def test_no_kill_costs_five_minutes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any signal or setting, on a clock by which each look takes a second."""
    monkeypatch.delenv("ALLMLP_SAVE_SECONDS")
    clock, saved, save = itertools.count(), [0.0], WorkFolder.save

    def noted(*words: Any) -> None:
        saved.append(time.monotonic())
        save(*words)

    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(WorkFolder, "save", noted)
    checkpoint.produce(tiny.run("transformer", steps=100))
    gaps = [after - before for before, after in pairwise([*saved, time.monotonic()])]
    assert len(gaps) > 3
    assert max(gaps) < 5 * 60


@pytest.mark.slow
def test_at_the_deadline_the_state_is_saved_and_the_job_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=400)
    expected = uninterrupted(run)
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "3600")
    ticks = itertools.count()  # a clock by which it is late after some steps, on any machine
    monkeypatch.setattr(time, "time", lambda: next(ticks))
    monkeypatch.setenv(deadline.VARIABLE, "50")
    with pytest.raises(SystemExit) as left:
        checkpoint.produce(run)
    assert left.value.code == deadline.STATUS
    (state,) = (checkpoint.WORK / run.id).glob("state-*.json")
    done = int(state.stem.removeprefix("state-"))
    assert len((checkpoint.WORK / run.id / "log.jsonl").read_text().splitlines()) == done
    assert 0 < done < run.steps
    with pytest.raises(SystemExit):
        checkpoint.produce(run)  # one that starts late leaves at once
    assert list((checkpoint.WORK / run.id).glob("state-*.json")) == [state]
    monkeypatch.delenv(deadline.VARIABLE)
    checkpoint.produce(run)
    assert digests(run) == expected


def test_a_deadline_that_is_not_a_time_is_reported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(deadline.VARIABLE, "noon")
    with pytest.raises(UserError, match="ALLMLP_DEADLINE=noon: is not a time"):
        checkpoint.produce(tiny.run("transformer"))


@pytest.mark.slow
def test_a_damaged_state_falls_back_to_the_one_before(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tiny.run("transformer", steps=400)
    expected = uninterrupted(run)
    killed_on_the_way(run, 8)
    sealed = (checkpoint.WORK / run.id).glob("state-*.json")  # written after the weights: without it there is no state
    newest = max(sealed, key=lambda path: int(path.stem.split("-")[1])).with_suffix(".safetensors")
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    checkpoint.produce(run)
    said = capsys.readouterr().out
    assert "manifest.json says" in said or "going back to an earlier step" in said
    assert digests(run) == expected


def test_a_twin_is_refused_by_name(here: Path) -> None:
    run = tiny.run("transformer", steps=100_000)
    pid = in_a_fork(lambda: checkpoint.produce(run))
    log, late = checkpoint.WORK / run.id / "log.jsonl", time.monotonic() + 120
    try:
        while not log.is_file():
            assert time.monotonic() < late
            time.sleep(0.01)
        with pytest.raises(UserError, match=f"run {run.id} is already being worked on by pid {pid} on "):
            checkpoint.produce(run)
    finally:
        os.kill(pid, signal.SIGKILL)
        ended(pid)


def test_a_loss_that_is_not_finite_keeps_the_last_good_weights(here: Path) -> None:
    run = tiny.run(
        "transformer",
        steps=50,
        optimiser={**tiny.OPTIMISER, "learning_rate": 1e30, "clip": None, "warmup_steps": 0},
    )
    checkpoint.produce(run)
    trained = TrainedRun(run)
    assert trained.diverged
    assert trained.ending["steps_done"] == len(trained.log) < 50
    assert all(torch.isfinite(value).all() for value in trained.weights().values())


def test_a_flipped_byte_in_a_checkpoint_is_reported(here: Path) -> None:
    run = tiny.run("transformer")
    checkpoint.produce(run)
    path = run.folder / "final.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        UserError,
        match=r"final.safetensors: sha256 is [0-9a-f]{8}\.\., manifest.json says [0-9a-f]{8}\.\.; delete",
    ):
        TrainedRun(run).weights()


def test_a_full_disk_is_said_and_nothing_half_written(here: Path) -> None:
    import resource

    run = tiny.run("transformer")

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            checkpoint.produce(run)
        except UserError as error:
            Path("said").write_text(str(error))

    ended(in_a_fork(small_files_only))
    assert "cannot be written (File too large). Nothing was changed" in Path("said").read_text()
    assert not run.folder.exists()
    checkpoint.produce(run)
    assert TrainedRun(run).ending["steps_done"] == run.steps
