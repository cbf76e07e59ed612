"""One finished small pipeline, made once and copied by every test that starts from one; and a browser with the page."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import call, git, small_clone
from tests.workflow.visiting import Visit, started, visits


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A clone in which `snakemake` ran, all kept, pushed to its own remote, and committed: one for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "pipeline"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").is_file():
            make(folder)
            (folder / "done").touch()
    return folder / "made" / "clone"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from started()


@pytest.fixture(scope="module")
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    yield from visits(browser)


def make(folder: Path) -> None:
    """Run the whole small pipeline; what an interrupted attempt left is removed."""
    shutil.rmtree(folder / "made", ignore_errors=True)
    clone = small_clone(folder / "made" / "clone")
    call(clone, "snakemake", "--cores", "2")
    call(clone, "allmlp", "keep", "--push")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=results")


@pytest.fixture
def finished(pipeline: Path, tmp_path: Path) -> Path:
    """A copy of the finished clone, with its remote, for one test to change."""
    shutil.copytree(pipeline.parent, tmp_path / "here", symlinks=True)
    return tmp_path / "here" / "clone"


@pytest.fixture
def fresh(pipeline: Path, tmp_path: Path) -> Path:
    """A `git clone` of the finished one: no checkpoints, no tokens, no cache, no remote beside it."""
    git(pipeline, "clone", "--quiet", str(pipeline), str(tmp_path / "elsewhere" / "clone"))
    return tmp_path / "elsewhere" / "clone"
