"""What several kinds of tests share: the project's folder, temporary clones of it, and its commands run in them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

if not torch.cuda.is_available():  # before anything imports triton, which reads it once
    os.environ["TRITON_INTERPRET"] = "1"

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared" / "data"  # real text beside the project; tests of it skip where it is absent

SMALL = {  # a plan that trains in seconds: see params.yaml, `scale: smoke`
    "recorded: [overlays/english.yaml, overlays/tinystories.yaml, overlays/classics.yaml]": "recorded: []",
    "scale: laptop": "scale: smoke",
    "documents: 30000": "documents: 300",
    "    documents: 4000\n": "    documents: 300\n",
    "documents: 4000, seed: 1": "documents: 300, seed: 1",
    "documents: 8000": "documents: 300",
}


def environment(clone: Path) -> dict[str, str]:
    """The environment in which a clone's own sources are used, and its commands are found."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("ALLMLP_", "GIT_", "PYTEST_"))}
    return {
        **clean,
        "PATH": path,
        "PYTHONPATH": str(clone / "src"),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def call(clone: Path, *words: str, ok: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a clone. `ok`: it must end with status 0. `more`: further environment."""
    done = subprocess.run(
        words, cwd=clone, env={**environment(clone), **more}, capture_output=True, text=True, timeout=900
    )
    if ok and done.returncode:
        raise AssertionError(
            f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done


def git(clone: Path, *words: str) -> str:
    """Run git in a clone. Returns what it prints."""
    identity = (
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "protocol.file.allow=always",
    )
    return call(clone, "git", *identity, *words).stdout


def edit(clone: Path, file: str, old: str, new: str) -> None:
    """Replace the one place where `old` stands in a file of a clone."""
    path = clone / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file}: {old!r} stands {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def small_clone(folder: Path) -> Path:
    """A git repository with this project's sources, no results, and a plan that takes seconds."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if not name.startswith("results/") and (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
    for old, new in SMALL.items():
        edit(folder, "params.yaml", old, new)
    lock = folder / "corpora.lock"  # without what is smaller here; local files are known by their digest alone
    entries = json.loads(lock.read_text()) if lock.is_file() else {}
    local = {name: entry for name, entry in entries.items() if entry["spec"]["source"]["source"] == "local"}
    lock.write_text(json.dumps(local))
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=sources")
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A small clone of one test's own, nothing run in it."""
    return small_clone(tmp_path / "clone")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The path of a file of real data, or a skip that says why."""

    def find(name: str) -> Path:
        if not (SHARED / name).is_file():
            pytest.skip(f"real data {name} is not beside the project")
        return SHARED / name

    return find
