"""`make gpu-hour` rehearsed on the CPU: from a clone, killed and resumed; from a bundle, without a network."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import call, environment, git
from tests.faults.pipelines import at_work
from tests.faults.test_advance import bare, sources

pytestmark = pytest.mark.slow

HOUR = ("-m", "allmlp.pipeline.gpu_hour", "--device=cpu", "--tiny", "--scale=smoke")
NO_NETWORK = """
import socket
def refuse(self, address):
    raise AssertionError(f"a connection to {address}")
for name in ("connect", "connect_ex"):
    setattr(socket.socket, name, refuse)
"""


def rehearse(clone: Path, minutes: float, *more: str, ok: bool = True, **variables: str) -> dict[str, Any]:
    """Call it; the report that it leaves in `hour` beside the clone."""
    words = (sys.executable, *HOUR, "--out=../hour", f"--minutes={minutes}", *more)
    done = call(clone, *words, ok=False, **variables)
    assert done.returncode == (0 if ok else 1), done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.endswith((clone.parent / "hour/report.txt").read_text())
    return json.loads((clone.parent / "hour/report.json").read_text())


def states(report: dict[str, Any]) -> dict[str, str]:
    """stage -> its state."""
    return {name: of["state"] for name, of in report["stages"].items()}


def test_killed_in_the_middle_it_goes_on_and_says_what_it_would_commit(tmp_path: Path) -> None:
    clone, hour = sources(tmp_path / "clone", "[0]", 20), tmp_path / "hour"
    few = rehearse(clone, 1.2)
    assert states(few)["check"] == states(few)["steps"] == "no time for it"
    assert "the same command goes on with what is left" in (hour / "report.txt").read_text()

    command = [sys.executable, *HOUR, "--out=../hour", "--minutes=10"]
    first = subprocess.Popen(command, cwd=clone, env=environment(clone), stdout=subprocess.DEVNULL)
    until = time.monotonic() + 240
    while not (hour / "steps.json").is_file():
        assert first.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    for pid in (first.pid, int((clone / "work/gpu-hour/snakemake.pid").read_text())):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    kept = json.loads((hour / "steps.json").read_text())["points"]
    assert kept
    # beside other work the check may take so long that it is stopped: the next call then makes it again
    checked = "done before" if json.loads((hour / "gpu-check.json").read_text())["complete"] else "done"

    report = rehearse(clone, 10)
    assert states(report)["check"] == checked
    assert states(report)["steps"] == states(report)["runs"] == "done"
    assert set(states(report).values()) == {"done before", "done"}
    assert not at_work(clone)
    assert json.loads((hour / "steps.json").read_text())["points"][: len(kept)] == kept
    assert report["stages"]["runs"]["said"] == "2 of 2 runs done, 0 failed"
    assert len(json.loads((hour / "gpu.json").read_text())["cpu"]["models"]) >= 13
    assert set(report["would_renew"]) == {"gpu-check.json", "gpu.json", "steps.json", "back.bundle"}
    assert git(clone, "status", "--porcelain", "--untracked-files=no") == "", "it changes nothing that git has"

    home = tmp_path / "home"
    git(clone, "clone", "--quiet", str(clone), str(home))
    for one in report["commands"]:
        if "rates.py" not in one and one != "allmlp report":  # no times of a GPU; no results to report on
            call(home, "bash", "-c", one)
    assert "all 2 runs are done" in call(home, "allmlp", "advance", "--minutes=10", "--scale=smoke", "--dirty").stdout
    assert {line.split()[-1] for line in git(home, "status", "--short", "--untracked-files=no").splitlines()} == {
        f"benchmarks/{name}" for name in ("gpu-check.json", "gpu.json", "steps.json")
    }


def test_from_a_bundle_without_a_network_a_failing_stage_stops_no_other(tmp_path: Path) -> None:
    home = sources(tmp_path / "home", "[0]", 20)
    said = call(home, "allmlp", "pack", "../open.bundle", "--scale=smoke", "--hours=1", "--max-mb=60").stdout
    assert "scale smoke: " in said
    other = tmp_path / "other"
    git(home, "clone", "--quiet", str(home), str(other))
    shutil.rmtree(other / ".git")
    alone = bare(other)
    (tmp_path / "absent/sitecustomize.py").write_text(NO_NETWORK)
    speeds = other / "benchmarks/gpu.py"
    speeds.write_text(speeds.read_text().replace('"""Training', 'raise SystemExit("no kernel image")\n"""', 1))

    report = rehearse(other, 10, "--bundle=../open.bundle", ok=False, **alone)
    assert states(report) == {"check": "done", "speeds": "failed", "steps": "done", "runs": "done"}
    assert report["stages"]["speeds"]["said"] == "no kernel image"
    assert "gpu.json" not in report["would_renew"]
    assert sum(file.stat().st_size for file in (tmp_path / "hour").iterdir()) < 60 * 2**20
    call(home, "allmlp", "unpack", "../hour/back.bundle")
    assert "all 2 runs are done" in call(home, "allmlp", "advance", "--minutes=10", "--scale=smoke").stdout


def test_runs_of_a_scale_that_is_a_trial_here_are_done_where_they_are_looked_for(tmp_path: Path) -> None:
    clone = sources(tmp_path / "clone", "[0]", 20)
    parameters = clone / "params.yaml"
    parameters.write_text(parameters.read_text().replace("scale: smoke", "scale: laptop"))
    git(clone, "commit", "--quiet", "--all", "--message=the project's scale is another one")
    call(clone, "allmlp", "pack", "../open.bundle", "--scale=smoke", "--hours=1", "--max-mb=60")
    report = rehearse(clone, 6, "--bundle=../open.bundle")
    assert report["stages"]["runs"]["said"] == "2 of 2 runs done, 0 failed"


def test_make_passes_its_words_on(tmp_path: Path) -> None:
    clone = sources(tmp_path / "clone", "[0]", 20)
    words = ("make", "-n", "gpu-hour", "MINUTES=9", "OUT=found", "BUNDLE=a.bundle")
    assert "--out found --minutes 9 --bundle a.bundle" in call(clone, *words).stdout
    assert "--out hour --minutes 60 \n" in call(clone, "make", "-n", "gpu-hour").stdout + "\n"
    missing = call(clone, "make", "gpu-hour", f"OUT={tmp_path / 'hour'}", "BUNDLE=a.bundle", ok=False)
    assert "no such file. `allmlp pack FILE --scale gpu --device cuda --hours 1` writes one." in missing.stderr
    assert os.listdir(tmp_path) == ["clone"]
