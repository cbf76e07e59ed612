"""`make reproduce`, as the command behind it: stopped and started again, failing, and twice at once."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import call, edit, environment, git
from tests.workflow.asking import contents
from tests.workflow.conftest import fresh, pipeline

__all__ = ["fresh", "pipeline"]  # fixtures
pytestmark = pytest.mark.slow


def start(clone: Path) -> subprocess.Popen[str]:
    """Begin to reproduce in a process group of its own."""
    return subprocess.Popen(
        ["allmlp", "reproduce", "--cores", "2"], cwd=clone, env={**environment(clone), "ALLMLP_SAVE_SECONDS": "0.1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def orphans(clone: Path) -> list[str]:
    """Processes that still work in a clone."""
    here = [path for path in Path("/proc").glob("[0-9]*/cwd") if path.exists()]
    return [str(path) for path in here if path.resolve().is_relative_to(clone)]


def longer(clone: Path) -> None:
    """Make one run long enough to be caught in the middle, and commit its results."""
    edit(clone, "config/quadrature/smoke.yaml", "steps: 20", "steps: 4000")


def test_everything_is_made_again_and_nothing_committed_changes(fresh: Path) -> None:
    said = call(fresh, "allmlp", "reproduce", "--cores", "2").stdout
    *_, of_time, last = said.strip().splitlines()
    numbers = map(float, re.findall(r"(\d+)(?: s\b|\))", of_time))
    whole, work, on_one_core, cores, last_mile, rest = numbers
    assert cores == 2
    assert 0 < on_one_core / 2 < whole
    assert work == pytest.approx(on_one_core / 2, abs=1)
    assert work + last_mile + rest == pytest.approx(whole, abs=2), "rounded to seconds"
    (share,) = re.findall(r"; workflow overhead \d+ s, (-?[0-9.]+)% of the wall time ", of_time)
    assert float(share) == pytest.approx(100 * rest / whole, abs=100 / whole), "rounded to seconds"
    assert last.startswith("reproduced ")
    assert "every verdict as committed" in last
    assert "different" not in last
    assert git(fresh, "status", "--porcelain") == "", "the same machine gives the same bytes"
    assert list((fresh / "results/checkpoints").glob("*/final.safetensors"))
    assert not (fresh / "work/reproduce").exists()
    call(fresh, "allmlp", "keep")
    assert git(fresh, "status", "--porcelain") == "", "and the pointers name these very bytes"


def test_killed_half_way_it_goes_on(fresh: Path) -> None:
    longer(fresh)
    process = start(fresh)
    state = fresh / "work/reproduce/work/runs"
    deadline = time.monotonic() + 240
    while not list(state.glob("constant-attention*/state-*.safetensors")):
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)  # the driver alone: Snakemake and the training outlive it as orphans
    process.wait()
    again = call(fresh, "allmlp", "reproduce", "--cores", "2")
    logs = "".join(path.read_text() for path in (fresh / "work").rglob("*.log"))
    assert "reproduced " in again.stdout, again.stdout + logs
    assert "quadrature" in (fresh / "work/reproduction.csv").read_text()


def test_a_failure_leaves_every_committed_file_as_it_was(fresh: Path) -> None:
    module = fresh / "src/allmlp/studies/copying/measures/learning_curve.py"
    module.write_text(module.read_text().replace("def measure(", "def broken(", 1))
    before = contents(fresh / "results")
    done = call(fresh, "allmlp", "reproduce", "--cores", "2", ok=False)
    assert done.returncode == 2
    assert "no committed file was touched" in done.stderr
    assert contents(fresh / "results") == before


def test_a_failure_after_everything_was_measured_puts_all_back(fresh: Path) -> None:
    edit(fresh, "config/quadrature/smoke.yaml", "seeds: [0]", "seeds: [3]")
    (fresh / "paper/report.html.j2").write_text("{{ no_such_thing }}")
    before = contents(fresh / "results")
    done = call(fresh, "allmlp", "reproduce", "--cores", "2", ok=False)
    assert done.returncode == 2
    now = contents(fresh / "results")
    assert {name: now[name] for name in before} == before
    assert not [name for name in now.keys() - before.keys() if not name.startswith(("checkpoints", "tokens"))]


def test_a_second_call_is_refused_while_the_first_works(fresh: Path) -> None:
    longer(fresh)
    process = start(fresh)
    lock = fresh / "work/reproduce.lock"
    while not (lock.is_file() and lock.read_text()):
        time.sleep(0.05)
    done = call(fresh, "allmlp", "reproduce", ok=False)
    assert done.returncode == 2
    assert f"make reproduce is already being worked on by pid {process.pid} on " in done.stderr
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopping; the same command goes on where it was" in said
    assert "Traceback" not in said
    assert not orphans(fresh), "nothing works on in the background"
