"""`allmlp advance`: killed, left at the deadline, carried to another clone, it ends with an undisturbed run's bits."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from allmlp.spec import catalogue
from tests.conftest import PROJECT, call, edit, environment, git, only, small_clone
from tests.faults.pipelines import at_work
from tests.workflow.asking import contents

pytestmark = pytest.mark.slow

ABSENT = ("datasets", "dvc", "pydantic", "rich", "snakemake", "typer")  # a machine with torch alone lacks them
LIMIT = 64 * 2**20  # of a bundle with a tree without results


def sources(folder: Path, seeds: str, steps: int) -> Path:
    """A clone whose plan is study 003 alone: a small network, trained for a while."""
    clone = small_clone(folder)
    edit(clone, "config/quadrature/smoke.yaml", "seeds: [0]", f"seeds: {seeds}")
    edit(clone, "config/quadrature/smoke.yaml", "steps: 20", f"steps: {steps}")
    only(clone, "quadrature")
    git(clone, "commit", "--quiet", "--all", "--message=one study")
    return clone


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds, trained and measured by Snakemake without a stop."""
    clone = sources(tmp_path_factory.mktemp("undisturbed") / "clone", "[0, 1]", 4000)
    call(clone, "snakemake", "--cores", "2", "measurements")
    return clone


@pytest.fixture
def begun(undisturbed: Path, tmp_path: Path) -> Path:
    """The same sources, in which `advance` and all that it had started were killed in the middle of a training."""
    clone = tmp_path / "begun"
    git(undisturbed, "clone", "--quiet", str(undisturbed), str(clone))
    process = subprocess.Popen(
        ["allmlp", "advance", "--minutes", "10", "--scale", "smoke", "--cores", "2"], cwd=clone,
        env={**environment(clone), "ALLMLP_SAVE_SECONDS": "0.1"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while not list(clone.glob("work/runs/constant-attention*/state-*.json")):  # written last: a whole state
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    while working := at_work(clone):
        for pid in working:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    assert not list(clone.glob("results/checkpoints/constant-attention*/final.safetensors"))
    return clone


def step(clone: Path) -> int:
    """The furthest state of any run."""
    return max(int(path.stem.removeprefix("state-")) for path in clone.glob("work/runs/*/state-*.json"))


def weights(clone: Path) -> dict[str, bytes]:
    """Every published file."""
    return contents(clone / "results/checkpoints")


def measured(clone: Path) -> dict[str, str]:
    """Every measurement, digit by digit, without the columns that tell the time."""
    found = {}
    for path in sorted(clone.glob("work/measurements/*/*/*.parquet")):
        columns = catalogue.measure(path.parts[-3], path.parts[-2]).columns
        timing = [name for name, column in columns.items() if column.kind == "timing"]
        found[f"{path.parts[-2]}/{path.name}"] = pd.read_parquet(path).drop(columns=timing).to_json(double_precision=15)
    return found


def advance(clone: Path, minutes: float, *words: str, **more: str) -> str:
    """Call it; it must end with status 0. What it says."""
    return call(clone, *(words or ("allmlp",)), "advance", f"--minutes={minutes}", "--scale=smoke", **more).stdout


def bare(clone: Path) -> dict[str, str]:
    """The environment of a machine with torch alone: importing anything else of the project's fails."""
    for name in ABSENT:
        (clone.parent / "absent" / name).mkdir(parents=True, exist_ok=True)
        (clone.parent / "absent" / name / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
    return {"PYTHONPATH": f"{clone.parent / 'absent'}{os.pathsep}{clone / 'src'}"}


def is_done(said: str) -> bool:
    """On a fast machine an earlier call may have done all."""
    return "3 of 3 runs done" in said or "all 3 runs are done" in said


def test_killed_left_and_carried_it_ends_with_the_same_bits(undisturbed: Path, begun: Path) -> None:
    before = step(begun)
    said = advance(begun, 0.25, ALLMLP_SAVE_SECONDS="3600")
    assert "scale smoke: " in said
    assert not at_work(begun), "nothing works on after it"
    assert not list(begun.glob(".snakemake/locks/*"))
    assert list(begun.glob("results/checkpoints/constant-attention*/final.safetensors")) or step(begun) >= before
    call(begun, "allmlp", "pack", "../bundle", "--scale=smoke")
    other = begun.parent / "other"
    git(undisturbed, "clone", "--quiet", str(undisturbed), str(other))
    call(other, "allmlp", "unpack", "../bundle")
    assert is_done(advance(other, 10))
    assert measured(other) == measured(undisturbed)
    assert weights(undisturbed).items() >= weights(other).items()
    call(other, "allmlp", "pack", "../finished", "--scale=smoke")
    assert "took" in call(begun, "allmlp", "unpack", "../finished").stdout
    assert measured(begun) == measured(undisturbed)
    assert advance(begun, 10) == "scale smoke: all 3 runs are done, there is nothing to do\n"
    assert git(begun, "log", "--oneline") == git(undisturbed, "log", "--oneline"), "it commits nothing"


def test_a_machine_with_torch_alone_takes_a_bundle_and_gives_one_back(undisturbed: Path, begun: Path) -> None:
    call(begun, "allmlp", "pack", "../bundle", "--scale=smoke")
    other = begun.parent / "other"
    git(undisturbed, "clone", "--quiet", str(undisturbed), str(other))
    shutil.rmtree(other / ".git")
    alone, python = bare(other), ("python", "-m", "allmlp")
    call(other, *python, "unpack", "../bundle", **alone)
    before = step(other)
    said = advance(other, 0.2, *python, **alone, ALLMLP_SAVE_SECONDS="3600")
    assert "scale smoke: " in said
    assert not at_work(other)
    assert before <= (step(other) if list(other.glob("work/runs/*/state-*.json")) else 4000)
    assert is_done(advance(other, 10, *python, **alone))
    assert measured(other) == measured(undisturbed)
    assert weights(undisturbed).items() >= weights(other).items()
    call(other, *python, "pack", "../back", **alone)
    call(begun, "allmlp", "unpack", "../back")
    assert measured(begun) == measured(undisturbed)
    assert "all 3 runs are done" in advance(begun, 10)


@pytest.mark.parametrize("scheduler", ["snakemake", "in turn"])
def test_a_failure_is_named_and_the_rest_goes_on(tmp_path: Path, scheduler: str) -> None:
    clone = sources(tmp_path / "clone", "[0]", 20)
    broken = clone / "src/allmlp/studies/quadrature/measures/formulas.py"
    broken.write_text(broken.read_text().replace("in INTEGRALS:", "in INTEGRALS.absent:", 1))
    more = {}
    if scheduler == "in turn":
        (clone / "absent/snakemake").mkdir(parents=True)
        (clone / "absent/snakemake/__init__.py").write_text("raise ImportError\n")
        more["PYTHONPATH"] = f"{clone / 'absent'}{os.pathsep}{clone / 'src'}"
    done = call(clone, "allmlp", "advance", "--minutes=10", "--scale=smoke", "--dirty", ok=False, **more)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"failed: logs/{'measure' if scheduler == 'in turn' else 'train'}/" in done.stdout
    assert "has no attribute 'absent'" in done.stdout
    assert "1 of 2 runs done" in done.stdout
    assert len(list(clone.glob("results/checkpoints/*/final.safetensors"))) == 2, "the weights of both stay"
    assert "Traceback" not in done.stdout + done.stderr


def test_the_smoke_runs_and_the_tree_are_small_enough_to_carry(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    asked = "from allmlp.plan.plan import load_plan; print(*{run.corpus for run in load_plan().runs if run.corpus})"
    corpora = call(clone, "python", "-c", asked).stdout.split()
    call(clone, "allmlp", "tokenize", *sorted(corpora, key=len))  # one whose tokenizer others share first
    call(clone, "allmlp", "pack", "../bundle", "--scale=smoke")
    tracked = subprocess.run(["git", "archive", "HEAD", "--", ".", ":!results"], cwd=PROJECT, capture_output=True)
    assert tracked.returncode == 0
    assert len(tracked.stdout) + (tmp_path / "bundle").stat().st_size < LIMIT
