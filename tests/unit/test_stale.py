"""Snakemake's lock is lifted where whoever left it is dead, and nowhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp.pipeline import snakemake_lock

COME = "import tempfile as t; from allmlp.pipeline import snakemake_lock as l; l.lift(t.mkdtemp(prefix='snakemake'))"
HOLD = f"{COME}; print('holds', flush=True); input()"


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A lock of Snakemake's, as it leaves them."""
    lock = tmp_path / snakemake_lock.LOCKS / "0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/a\n")
    (tmp_path / snakemake_lock.MARKS).mkdir()
    (tmp_path / snakemake_lock.MARKS / "cmVzdWx0cy9h").touch()
    return lock


def start(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A process that works there."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "holds\n"
    return process


def apart(folder: Path) -> dict[str, str]:
    """An environment with a temporary directory of its own."""
    (folder / "tmp").mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(folder / "tmp")}


def lift(folder: Path) -> str:
    """What another process says that comes to work there."""
    done = subprocess.run(
        [sys.executable, "-c", COME], cwd=folder, env=apart(folder), capture_output=True, text=True, check=True
    )
    return done.stderr


def test_the_lock_of_a_dead_process_is_lifted_and_that_of_a_living_one_stays(left: Path, tmp_path: Path) -> None:
    others = [start(tmp_path, apart(tmp_path)) for _ in range(2)]
    others[0].kill()
    others[0].wait()
    assert lift(tmp_path) == ""
    assert left.is_file(), "the second one works on"
    assert len(list((tmp_path / "tmp").iterdir())) == 2, "and needs its folder"
    assert list((tmp_path / snakemake_lock.MARKS).iterdir())
    others[1].kill()
    others[1].wait()
    assert "lifted the lock of a dead Snakemake (pid " in lift(tmp_path)
    assert not left.exists()
    assert not list((tmp_path / snakemake_lock.MARKS).iterdir()), "files are whole or not there: none is incomplete"
    assert len(list((tmp_path / "tmp").iterdir())) == 1, "the folders of dead ones are gone"


def test_the_lock_of_another_host_or_an_unknown_holder_stays(left: Path, tmp_path: Path) -> None:
    assert lift(tmp_path) == ""
    note = tmp_path / snakemake_lock.NOTE
    note.write_text(json.dumps({**json.loads(note.read_text()), "host": "elsewhere.example"}))
    assert lift(tmp_path) == ""
    assert left.is_file()


def test_folders_of_dead_processes_of_other_clones_go_and_all_others_stay(tmp_path: Path) -> None:
    clones, environment = [tmp_path / "a", tmp_path / "b"], apart(tmp_path)
    for clone in clones:
        clone.mkdir()
    dead, alive = (start(clone, environment) for clone in clones)
    temporary = tmp_path / "tmp"
    dead.kill()
    dead.wait()
    (temporary / "snakemake-of-a-stranger").mkdir()
    (temporary / "snakemake-link").symlink_to(clones[0])
    (clones[0] / snakemake_lock.HOLDER).touch()
    before = {*temporary.iterdir()}
    subprocess.run([sys.executable, "-c", COME], cwd=clones[1], env=environment, check=True)
    gone = before - {*temporary.iterdir()}
    assert len(gone) == 1, "the folder of the dead one alone"
    assert clones[0].is_dir()
    alive.kill()
    alive.wait()
    subprocess.run([sys.executable, "-c", COME], cwd=clones[0], env=environment, check=True)
    left = [folder for folder in temporary.iterdir() if (folder / snakemake_lock.HOLDER).is_file()]
    assert len(left) == 2, "the link, and the folder of the last one, whose process has just ended"
