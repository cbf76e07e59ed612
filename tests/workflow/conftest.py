"""One finished small pipeline, made once and copied by every test that starts from one."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import call, git, small_clone


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `snakemake` ran, everything kept, pushed to its own remote, and committed."""
    folder = tmp_path_factory.mktemp("pipeline")
    clone = small_clone(folder / "clone")
    call(clone, "snakemake", "--cores", "2")
    call(clone, "allmlp", "keep", "--push")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=results")
    return clone


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
