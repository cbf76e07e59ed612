"""`make reproduce`, as the command behind it: stopped and started again, on other numbers, failing, twice at once."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import chdir, suppress
from pathlib import Path

import pyarrow as pa
import pytest

from allmlp.measurements import store
from allmlp.spec import catalogue
from tests.conftest import call, edit, environment, git, only, small_clone
from tests.workflow.asking import contents

pytestmark = pytest.mark.slow
STUDY, ALTERED = "quadrature", {"error_table": 1 + 1e-6, "sums": 2.0}  # measure -> factor of its numbers
STORED = "results/measurements"


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
    """Make one run long enough to be caught in the middle."""
    edit(clone, "config/quadrature/smoke.yaml", "steps: 20", "steps: 4000")
    git(clone, "commit", "--quiet", "--all", "--message=a longer run")


def alter(clone: Path) -> None:
    """Commit other numbers than this machine gives, within and beyond the tolerance, and other verdicts."""
    with chdir(clone):
        for measure, factor in ALTERED.items():
            stored, columns = store.read_measure(STUDY, measure), catalogue.measure(STUDY, measure).columns
            numbers = {name for name, column in columns.items() if column.kind == "numeric"}
            taken = []
            for key, (about, _) in stored.places.items():
                rows = stored.rows(key).to_pandas()
                rows[[*numbers]] *= factor
                taken.append((about, pa.Table.from_pandas(rows, preserve_index=False)))
            store.replace(STUDY, measure, taken, {})
    claims = clone / "results/claims.json"
    claims.write_text(re.sub('"verdict": ?"[a-z ]+"', '"verdict": "reproduced"', claims.read_text()))
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=results of another machine")


def differences(said: str) -> list[str]:
    """What a call names as different, and its counts and verdicts, without its time."""
    lines = said.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("time after the install"))
    return [re.sub(r" in \d+:\d+:", "", line) for line in lines[begin + 1 :]]


def again(clone: Path, *words: str, ok: bool = False) -> str:
    """Call it to its end; verdicts may differ. What it says."""
    done = call(clone, "allmlp", "reproduce", "--cores", "2", *words, ok=ok)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def one_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished pipeline of study 003 alone, committed."""
    clone = small_clone(tmp_path_factory.mktemp("one") / "clone")
    only(clone, STUDY)
    git(clone, "commit", "--quiet", "--all", "--message=one study")
    call(clone, "snakemake", "--cores", "2")
    call(clone, "allmlp", "keep")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=results")
    return clone


@pytest.fixture
def single(one_study: Path, tmp_path: Path) -> Path:
    """A `git clone` of it."""
    git(one_study, "clone", "--quiet", str(one_study), str(tmp_path / "clone"))
    return tmp_path / "clone"


@pytest.fixture
def altered(single: Path) -> Path:
    """One with the results of another machine."""
    alter(single)
    return single


@pytest.mark.parametrize("repository", [True, False])
def test_other_numbers_are_named_each_time_killed_or_not(altered: Path, repository: bool) -> None:
    committed, before = git(altered, "rev-parse", "HEAD").strip(), contents(altered / STORED)
    if not repository:
        shutil.rmtree(altered / ".git")
    process = start(altered)
    while contents(altered / STORED) == before:  # until its last mile has put the first of its own there
        assert process.poll() is None, process.stdout and process.stdout.read()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    after_a_kill = differences(again(altered))
    assert any("sums" in line and "committed" in line for line in after_a_kill), after_a_kill
    assert any(line.startswith("  claim ") for line in after_a_kill)
    if not repository:
        return  # the comparison is printed, and what was there before is gone
    assert differences(again(altered)) == after_a_kill
    git(altered, "commit", "--quiet", "--all", "--message=results of this machine")
    other = differences(again(altered, "--against", committed))
    assert other[:-1] == [line.replace("committed:", f"in {committed}:") for line in after_a_kill[:-1]]


def test_a_study_is_taken_whole(one_study: Path, altered: Path) -> None:
    """Rows within tolerance of the committed ones are replaced too, where others of the same study differ."""
    assert not any(numbers(altered, measure).equals(numbers(one_study, measure)) for measure in ALTERED)
    assert "1 within tolerance, 1 different" in again(altered)
    assert all(numbers(altered, measure).equals(numbers(one_study, measure)) for measure in ALTERED)


def numbers(clone: Path, measure: str) -> pa.Table:
    """All stored rows of a measure."""
    with chdir(clone):
        stored = store.read_measure(STUDY, measure)
        return stored.table(stored.places)


def test_everything_is_made_again_and_nothing_committed_changes(single: Path) -> None:
    said = call(single, "allmlp", "reproduce", "--cores", "2").stdout
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
    assert git(single, "status", "--porcelain") == "", "the same machine gives the same bytes"
    assert list((single / "results/checkpoints").glob("*/final.safetensors"))
    assert not (single / "work/reproduce").exists()
    call(single, "allmlp", "keep")
    assert git(single, "status", "--porcelain") == "", "and the pointers name these very bytes"


def test_killed_half_way_it_goes_on(single: Path) -> None:
    longer(single)
    process = start(single)
    state = single / "work/reproduce/work/runs"
    deadline = time.monotonic() + 240
    while not list(state.glob("constant-attention*/state-*.safetensors")):
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)  # the driver alone: Snakemake and the training outlive it as orphans
    process.wait()
    again, logs = start(single), ""
    while again.poll() is None:
        with suppress(FileNotFoundError):  # these logs go with the folder
            logs += "".join(path.read_text() for path in (single / "work/reproduce/logs").rglob("*.log"))
        time.sleep(0.2)
    said, _ = again.communicate()
    assert "reproduced " in said, said + logs
    assert re.search(r"constant-attention.*: going on at step [1-9]", logs), "not from the beginning"
    assert "quadrature" in (single / "work/reproduction.csv").read_text()


def test_a_failure_leaves_every_committed_file_as_it_was(single: Path) -> None:
    module = single / "src/allmlp/studies/quadrature/measures/network.py"
    module.write_text(module.read_text().replace("set(trained.steps)", "set(trained.absent)", 1))
    before = contents(single / "results")
    refused = call(single, "allmlp", "reproduce", "--cores", "2", ok=False)
    assert (refused.returncode, refused.stderr.split(":")[1].strip()) == (2, str(module.relative_to(single)))
    done = call(single, "allmlp", "reproduce", "--cores", "2", "--dirty", ok=False)
    assert done.returncode == 2
    assert "no committed file was touched" in done.stderr
    assert contents(single / "results") == before


def test_a_failure_after_everything_was_measured_puts_all_back(single: Path) -> None:
    edit(single, "config/quadrature/smoke.yaml", "seeds: [0]", "seeds: [3]")
    (single / "paper/report.html.j2").write_text("{{ no_such_thing }}")
    git(single, "commit", "--quiet", "--all", "--message=a broken page")
    before = contents(single / "results")
    done = call(single, "allmlp", "reproduce", "--cores", "2", ok=False)
    assert done.returncode == 2
    now = contents(single / "results")
    assert {name: now[name] for name in before} == before
    assert not [name for name in now.keys() - before.keys() if not name.startswith(("checkpoints", "tokens"))]


def test_a_second_call_is_refused_while_the_first_works(single: Path) -> None:
    longer(single)
    process = start(single)
    lock = single / "work/reproduce.lock"
    while not (lock.is_file() and lock.read_text()):
        assert process.poll() is None, process.stdout and process.stdout.read()
        time.sleep(0.05)
    done = call(single, "allmlp", "reproduce", ok=False)
    assert done.returncode == 2
    assert f"make reproduce is already being worked on by pid {process.pid} on " in done.stderr
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopping; the same command goes on where it was" in said
    assert "Traceback" not in said
    assert not orphans(single), "nothing works on in the background"
