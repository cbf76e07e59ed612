"""Files that are there whole or not at all: what dead processes leave goes with the next writer, whatever its file."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from allmlp.common import dvc, locks, processes
from allmlp.common.atomic import is_alive, write_atomically
from tests.conftest import call

KILLED = """
import os, sys
from pathlib import Path
from allmlp.common import atomic
atomic.sync = lambda path: os.kill(os.getpid(), 9)
atomic.write_atomically(Path(sys.argv[1]), "half")
"""


@pytest.fixture
def zombie() -> Iterator[int]:
    """A process that has ended and that nobody has asked how."""
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def test_the_next_writer_removes_what_a_killed_one_left_of_another_file(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a-digest.parquet")])
    assert killed.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1, "the kill came before the name was given"
    write_atomically(tmp_path / "another.parquet", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["another.parquet"]


def test_what_living_processes_and_others_write_stays(tmp_path: Path) -> None:
    other = f".a.parquet.{socket.gethostname()}.{os.getppid()}"
    names = {other, ".a.parquet.elsewhere.1", ".hidden", f"a.{socket.gethostname()}.99999999"}
    for name in names:
        (tmp_path / name).touch()
    write_atomically(tmp_path / "b.parquet", "whole")
    assert {path.name for path in tmp_path.iterdir()} == names | {"b.parquet"}


def test_a_zombie_is_not_alive(zombie: int, tmp_path: Path) -> None:
    assert not is_alive(zombie)
    assert is_alive(os.getpid())
    assert is_alive(1), "of another user, perhaps"
    (tmp_path / "lock").write_text(f'{{"pid": {zombie}, "host": "{socket.gethostname()}", "since": "then"}}')
    assert locks.holder(tmp_path / "lock") is None
    apart = tmp_path / "work" / "advance"
    apart.mkdir(parents=True)
    (apart / processes.PID).write_text(str(zombie))
    assert processes._running_processes(apart) == []


def test_dvcs_lock_of_a_zombie_is_lifted_and_that_of_the_living_stays(
    zombie: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call(tmp_path, "git", "init", "--quiet")
    call(tmp_path, "dvc", "init", "--quiet")
    (tmp_path / "kept").write_text("weights")
    dead, living = ({"pid": pid, "cmd": "dvc push"} for pid in (zombie, os.getpid()))
    place = str(tmp_path / "kept")
    dvc.RWLOCK.write_text(json.dumps({"write": {place: dead}, "read": {str(tmp_path / "other"): [living, dead]}}))
    dvc.run_dvc("add", "kept")
    assert (tmp_path / "kept.dvc").is_file()
    assert json.loads(dvc.RWLOCK.read_text())["read"] == {str(tmp_path / "other"): [living]}


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.8])
def test_a_lock_that_a_killed_dvc_has_cut_is_left_out(
    kept: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call(tmp_path, "git", "init", "--quiet")
    call(tmp_path, "dvc", "init", "--quiet")
    (tmp_path / "dvc.yaml").write_text("stages: {write: {cmd: echo words > out, outs: [out]}}")
    dvc.run_dvc("repro")
    whole = dvc.LOCK.read_bytes()
    dvc.LOCK.write_bytes(whole[: int(kept * len(whole))])
    assert kept or call(tmp_path, "dvc", "repro", ok=False).returncode, "DVC takes it: dvc.py need not leave it out"
    dvc.run_dvc("repro")
    assert dvc.LOCK.read_bytes() == whole


def test_what_outlives_its_call_is_found_and_ended(tmp_path: Path) -> None:
    apart = tmp_path / "work" / "advance"
    apart.mkdir(parents=True)
    process = subprocess.Popen(["sleep", "60"], cwd=tmp_path, start_new_session=True)
    (apart / processes.PID).write_text(str(process.pid))
    processes.stop(apart)
    assert process.wait(timeout=30) == -15
