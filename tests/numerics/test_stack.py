"""Runs trained as one stack: the losses, weights and files of each alone, to rounding; killed and resumed too."""

import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.pipeline import jobs
from allmlp.spec.run import Run
from allmlp.spec.settings import StudySettings
from allmlp.training import checkpoint, stack
from allmlp.training.loop import Training
from allmlp.training.published import TrainedRun
from tests import tiny
from tests.numerics.test_resume import digests, ended, here, in_a_fork  # noqa: F401  # a fixture
from tests.numerics.test_team import ARCHITECTURES, DROPOUT, PADDED, difference, run_of

SEEDS = (1, 2, 5)
FAST = ("masked-mixer", "linear-causal-rn", "triangular, padded right")


def seeds(architecture: str, steps: int = 100, **changes: object) -> list[Run]:
    """The runs of a stack."""
    run = replace(run_of(architecture, 1, steps), **{"stacked": len(SEEDS), **changes})  # type: ignore[arg-type]
    return [replace(run, seed=seed) for seed in SEEDS]


def trainings(runs: list[Run], folder: Path) -> list[Training]:
    return [Training(run, folder / str(run.seed)) for run in runs]


@pytest.mark.parametrize(
    "architecture",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in (*ARCHITECTURES, *PADDED)],
)
def test_a_stack_trains_as_each_run_alone_does(architecture: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "600")
    runs = seeds(architecture)
    checkpoint.produce_stack(runs)
    for run in runs:
        checkpoint.produce(alone := replace(run, stacked=1))
        assert difference(run, alone) < 1e-5
        assert list(digests(run)) == list(digests(alone))


def test_parts_of_a_batch_and_clipping_are_each_runs_own(here: Path) -> None:  # noqa: F811
    optimiser = {**tiny.OPTIMISER, "accumulation": 2, "clip": 0.1}
    runs = seeds("transformer", 20, optimiser=optimiser)
    checkpoint.produce_stack(runs)
    for run in runs:
        checkpoint.produce(alone := replace(run, stacked=1))
        assert difference(run, alone) < 1e-5
        norms = [TrainedRun(one).log.gradient_norm.to_numpy() for one in (run, alone)]
        assert norms[0] == pytest.approx(norms[1], rel=1e-4)


def test_a_run_that_diverges_keeps_its_weights_and_the_others_go_on(here: Path, tmp_path: Path) -> None:  # noqa: F811
    runs = seeds("linear-birn", 12)
    together, alone = trainings(runs, tmp_path / "together"), trainings(runs, tmp_path / "alone")
    for training in (together[1], alone[1]):
        _breaks_at(training, 5)
    stack.train(together)
    for stacked, own in zip(together, alone, strict=True):
        own.train()
        assert (stacked.step, stacked.diverged) == (own.step, own.diverged)
        for name, weight in own.model.state_dict().items():
            torch.testing.assert_close(stacked.model.state_dict()[name], weight, rtol=1e-4, atol=1e-5)
    assert [training.step for training in together] == [12, 5, 12]


def _breaks_at(training: Training, step: int) -> None:
    """From this step on the training's images have no numbers for pixels."""
    batch = training.task.batch

    def broken(seed: int, at: int):  # type: ignore[no-untyped-def]
        found = batch(seed, at)
        return found._replace(tokens=found.tokens * math.nan) if at >= step else found

    training.task.batch = broken  # type: ignore[method-assign]


@pytest.mark.slow
def test_a_stack_that_was_stopped_and_killed_ends_with_the_bits_of_one_that_was_not(here: Path) -> None:  # noqa: F811
    runs = seeds("transformer", 150)
    assert ended(in_a_fork(lambda: checkpoint.produce_stack(runs))) == 0
    files = [digests(run) for run in runs]
    for name in ("results/checkpoints", "work"):
        os.rename(name, f"{name}-uninterrupted")
    log = checkpoint.WORK / runs[-1].id / "log.jsonl"
    for number, after in ((signal.SIGTERM, 40), (signal.SIGKILL, 90)):
        pid = in_a_fork(lambda: checkpoint.produce_stack(runs))
        while not log.is_file() or log.read_bytes().count(b"\n") < after:
            assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None, "it ended by itself"
            time.sleep(0.001)
        os.kill(pid, number)
        assert ended(pid) == (1 if number == signal.SIGTERM else -number)  # a fork turns SystemExit into 1
    checkpoint.produce_stack(runs)
    assert [digests(run) for run in runs] == files


def test_a_kill_between_the_states_of_a_stack_brings_all_back_to_the_same_step(tmp_path: Path) -> None:
    begun = trainings(seeds("transformer", 6), tmp_path)
    for members in (begun, begun[:2]):  # those whose state is saved before the kill
        for training in begun:
            training.record(training.update(), None)
        for training in members:
            training.save()
    again = trainings(seeds("transformer", 6), tmp_path)
    assert [training.step for training in again] == [2, 2, 1]
    stack.train(again)
    first = again[0].work.log()
    assert [training.work.log().step.tolist() for training in again] == [list(range(6))] * 3
    (alone := Training(again[0].run, tmp_path / "alone")).train()
    assert abs(first.loss - alone.work.log().loss).max() < 1e-5


def test_runs_at_different_steps_are_trained_with_those_at_the_same_step(tmp_path: Path) -> None:
    runs = seeds("transformer", 12)
    begun = trainings(runs, tmp_path)
    for _ in range(4):
        begun[0].record(begun[0].update(), None)
    begun[0].save()
    again = trainings(runs, tmp_path)
    assert [training.step for training in again] == [4, 0, 0]
    stack.train(again)
    for training in again:
        (alone := Training(training.run, tmp_path / f"alone-{training.run.seed}")).train()
        assert abs(training.work.log().loss - alone.work.log().loss).max() < 1e-5
        assert training.seconds > 0


@pytest.mark.parametrize("architecture", DROPOUT)
def test_runs_that_draw_dropout_are_trained_one_after_the_other(architecture: str, here: Path) -> None:  # noqa: F811
    runs = seeds(architecture, 4)
    checkpoint.produce_stack(runs)
    for run in runs:
        checkpoint.produce(alone := replace(run, stacked=1))
        assert difference(run, alone) == 0


def test_a_job_stacks_the_seeds_of_one_setting(here: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    few, wider = seeds("transformer", 4, stacked=2), seeds("linear-causal-rn", 4, stacked=2)[:1]
    members = [[run.seed for run in one] for one in stack.stacks([*few, *wider])]
    assert members == [[1, 2], [5], [1]]
    jobs.train_runs([*few, *wider])
    said = capsys.readouterr().out
    assert f"{few[0].id} and 1 more as one stack: 4 steps" in said
    assert all(run.folder.is_dir() for run in [*few, *wider])
    assert not list(checkpoint.WORK.iterdir())


def test_the_id_says_that_a_run_was_stacked() -> None:
    run = tiny.run("transformer")
    assert replace(run, stacked=3).id != run.id
    assert replace(run, stacked=1).id == run.id
    assert replace(run, seed=2, stacked=3).setting == replace(run, stacked=3).setting
    assert replace(run, steps=13, stacked=3).setting != replace(run, stacked=3).setting


def test_what_cannot_be_stacked_is_refused(tmp_path: Path) -> None:
    for other in ({"compile": True}, {"processes": 2}):
        with pytest.raises(ValidationError, match="neither compiled nor trained by several processes"):
            StudySettings(seeds=[0], steps=1, stacked=2, **other)  # type: ignore[arg-type]
    one, two = trainings(seeds("triangular", 4)[:2], tmp_path)
    name, _ = next(iter(two.model.named_buffers()))
    two.model.get_buffer(name).add_(1)
    with pytest.raises(UserError, match=f"its constant {name} is not that of"):
        stack.train([one, two])


def test_half_precision_keeps_its_types(tmp_path: Path) -> None:
    runs = seeds("gpt2", 10, precision="bfloat16")
    stack.train(together := trainings(runs, tmp_path / "together"))
    for training in together:
        (alone := Training(training.run, tmp_path / str(training.run.seed))).train()
        assert abs(training.work.log().loss - alone.work.log().loss).max() < 1e-3  # bfloat16 is exact to 4e-3
    batch, whole = alone.task.batch(0, 0), stack.Stack(together)
    with alone.autocast():
        _, logits = whole.body.losses(whole.weights, type(batch)(*(torch.stack([part] * len(runs)) for part in batch)))
        assert logits is not None
        assert logits.dtype == alone.model(batch.tokens).dtype == torch.bfloat16
