"""macOS has no `nproc`, no `os.sched_getaffinity`, no /proc and no prctl: the commands do without."""

import ctypes
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import which

import pytest

from allmlp.common import atomic, cores, processes, workers
from allmlp.pipeline import doctor
from allmlp.training import environment
from tests.conftest import PROJECT


@pytest.fixture
def darwin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system with none of the four."""
    read = Path.read_text

    def read_without_proc(path: Path, *given: object, **named: object) -> str:
        if path.parts[:2] == ("/", "proc"):
            raise FileNotFoundError(path)
        return read(path, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(Path, "read_text", read_without_proc)
    monkeypatch.delattr(ctypes, "CDLL")


@pytest.mark.usefixtures("darwin", "in_project")
def test_doctor_and_the_record_of_a_run_need_no_linux() -> None:
    assert cores.count() == os.cpu_count()
    assert all(line.found for check in doctor.CHECKS if check is not doctor._remote for line in check())
    assert environment.provenance("cpu")["hardware"]


@pytest.mark.usefixtures("darwin")
def test_processes_of_an_earlier_call_are_found_and_ended(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    apart = tmp_path / "work/advance"
    apart.mkdir(parents=True)
    job = subprocess.Popen(["sleep", "600"], cwd=tmp_path, start_new_session=True)
    elsewhere = subprocess.Popen(["sleep", "600"], cwd=tmp_path.parent, start_new_session=True)
    try:
        (apart / processes.PID).write_text(f"{job.pid} {elsewhere.pid}")
        assert atomic.is_alive(job.pid)
        processes.stop(apart)
        assert job.wait(timeout=10) == -signal.SIGTERM
        assert not atomic.is_alive(job.pid)
        assert atomic.is_alive(elsewhere.pid), "the number of another project's process"
        assert capsys.readouterr().out.startswith("ending 1 processes of an unfinished call")
    finally:
        for one in (job, elsewhere):
            one.kill()
            one.wait()


def test_proc_is_read_in_one_place_that_does_without() -> None:
    reading = {
        file.relative_to(PROJECT / "src/allmlp").as_posix()
        for file in (PROJECT / "src").rglob("*.py")
        if "/proc" in file.read_text(encoding="utf-8")
    }
    assert reading == {"training/environment.py"}, "test_doctor_and_the_record_of_a_run_need_no_linux tries this one"


@pytest.mark.usefixtures("darwin")
def test_workers_start_and_end_without_prctl() -> None:
    assert workers.run_all([workers.Work([partial(abs, -1), partial(abs, 2)])]) == [[1, 2]]


def test_make_counts_the_cores_without_nproc(tmp_path: Path) -> None:
    for name in ("sh", "env", "getconf"):
        (tmp_path / name).symlink_to(str(which(name)))
    said = subprocess.run(
        [str(which("make")), "--dry-run", "--assume-old=.venv/bin/ready", "test", "reproduce"],
        cwd=PROJECT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert f"pytest -n {os.cpu_count()} " in said
    assert f"allmlp reproduce --cores {os.cpu_count()} " in said
