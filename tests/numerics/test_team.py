"""Two processes that train one run together, as one process would; real processes, gloo, killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from allmlp.common import paths
from allmlp.spec.run import Run
from allmlp.training import checkpoint
from allmlp.training.process_group import ALONE, shard_like
from allmlp.training.published import TrainedRun
from tests import tiny
from tests.conftest import PROJECT

UNTRAINED = ("hand-coded-addition",)  # its weights are given
ARCHITECTURES = [name for name in tiny.ALL if name not in UNTRAINED]
DROPOUT = ("openai-gpt", *tiny.ATTENDING_MATCHERS)
PADDED = [f"{name}, padded right" for name in ("masked-mixer", "hybrid", "openai-gpt", "triangular", "transformer")]
PADDED += ["llama, padded left"]
PROGRAM = """
import sys
from allmlp.pipeline import jobs
from tests.numerics.test_team import run_of
if __name__ == "__main__":  # the launcher imports this file once more
    jobs.train_runs([run_of(name, int(sys.argv[1]), int(sys.argv[2])) for name in sys.argv[3:]])
"""


def run_of(architecture: str, processes: int, steps: int) -> Run:
    """A tiny run of an architecture. With dropout the parts of a batch matter, so one process has two parts as well."""
    name, _, side = architecture.partition(", padded ")
    changes = {"steps": steps, "keep": (0, steps // 2), "processes": processes}
    made = tiny.padded(name, side, **changes) if side else tiny.run(name, **changes)  # type: ignore[arg-type]
    parts = 2 if name in DROPOUT else 1
    return replace(made, optimiser={**made.optimiser, "accumulation": parts})


def start(here: Path, *architectures: str, processes: int = 2, steps: int, torchrun: int = 0) -> subprocess.Popen[str]:
    """Start trainings of teams, one after the other: as `allmlp train` does, or all in `torchrun` processes."""
    program = here / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={torchrun}"] if torchrun else []
    return subprocess.Popen(
        [sys.executable, *launcher, str(program), str(processes), str(steps), *architectures],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT / "src"), str(PROJECT)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the tokens of the tiny runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    tiny.write_tokens(tmp_path)
    return tmp_path


def difference(team: Run, alone: Run) -> float:
    """The largest difference of two runs' losses, of a step or held out, relative to a loss above 1."""
    ours, theirs = TrainedRun(team), TrainedRun(alone)
    assert list(ours.log) == list(theirs.log)
    assert len(ours.log) == len(theirs.log) == alone.steps
    assert {name: value.shape for name, value in ours.weights().items()} == {
        name: value.shape for name, value in theirs.weights().items()
    }
    ends = [trained.ending["validation_loss"] or 0.0 for trained in (ours, theirs)]
    between = (ours.log.loss - theirs.log.loss).abs() / theirs.log.loss.clip(lower=1)
    return max(between.max(), abs(ends[0] - ends[1]) / max(1, ends[1]))


def logged(run: Run) -> int:
    """The updates in the log of a run under way."""
    log = checkpoint.WORK / run.id / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.is_file() else 0


def stopped(here: Path, run: Run, number: int, after: int) -> int:
    """Send the launcher of a run's team a signal after so many updates. Returns its status, when all are gone."""
    team = start(here, run.architecture, steps=run.steps)
    while logged(run) < after and team.poll() is None:
        time.sleep(0.01)
    os.kill(team.pid, number)
    said, _ = team.communicate(timeout=120)  # until the last process of the team has closed its output
    assert logged(run) >= after, said[-3000:]
    return team.returncode


@pytest.mark.slow
def test_two_processes_train_every_architecture_as_one_does(here: Path) -> None:
    team = start(here, *ARCHITECTURES, *PADDED, steps=50, torchrun=2)
    for name in (*ARCHITECTURES, *PADDED):
        checkpoint.produce(run_of(name, 1, 50))
    said, _ = team.communicate(timeout=900)
    assert team.returncode == 0, said[-3000:]
    names = (*ARCHITECTURES, *PADDED)
    found = {name: difference(run_of(name, 2, 50), run_of(name, 1, 50)) for name in names}
    assert {name: value for name, value in found.items() if value > 1e-5} == {}


@pytest.mark.slow
def test_a_team_that_was_stopped_and_killed_ends_with_the_bits_of_one_that_was_not(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of("transformer", 2, 300)
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    assert stopped(here, run, signal.SIGTERM, after=100) == 128 + signal.SIGTERM
    assert stopped(here, run, signal.SIGKILL, after=200) == -signal.SIGKILL
    last = start(here, "transformer", steps=300)
    said, _ = last.communicate(timeout=300)
    assert last.returncode == 0, said[-3000:]
    assert f"{run.id}: going on at step " in said
    assert said.count(f"{run.id}: done") == 1, "one process speaks"
    found = {path.name: paths.file_sha256(path) for path in run.folder.iterdir()}
    for name in ("results/checkpoints", "work"):
        os.rename(name, f"{name}-stopped")
    monkeypatch.delenv("ALLMLP_SAVE_SECONDS")
    undisturbed = start(here, "transformer", steps=300)
    assert undisturbed.wait(timeout=300) == 0
    assert found == {path.name: paths.file_sha256(path) for path in run.folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "torchrun", "said"),
    [
        (2, 3, "asks for 2 processes, and torchrun started 3. Set `processes: 3`"),
        (5, 0, "a batch of 4 sequences cannot be cut into 5 parts"),
    ],
)
def test_a_team_of_the_wrong_size_is_refused(processes: int, torchrun: int, said: str, here: Path) -> None:
    team = start(here, "transformer", processes=processes, steps=10, torchrun=torchrun)
    assert said in team.communicate(timeout=120)[0]
    assert team.returncode == (1 if torchrun else 2)


def test_a_team_of_one_changes_nothing_and_asks_nobody() -> None:
    tensor = torch.ones(3)
    assert ALONE.is_leader
    assert ALONE.sum_values([1.5, 2.0]) == [1.5, 2.0]
    assert ALONE.largest_flags([0, 15]) == [0, 15]
    assert ALONE.norm(torch.tensor(2.0)) == 2.0
    assert ALONE.gather_tensors({"a": tensor})["a"] is tensor
    assert shard_like(tensor, torch.zeros(3)) is tensor
    with ALONE.gather(torch.nn.Linear(1, 1)):
        assert not torch.distributed.is_initialized()


def test_a_run_of_several_processes_has_an_id_of_its_own_and_one_device_each() -> None:
    one, two = run_of("transformer", 1, 10), run_of("transformer", 2, 10)
    assert one.id != two.id
    assert "processes" not in one.identity
    assert two.identity["processes"] == 2
    assert (two.gpus, replace(two, device="cuda").gpus, replace(one, device="cuda").gpus) == (0, 2, 1)
