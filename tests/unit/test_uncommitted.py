"""What makes results is in git's HEAD, or named."""

from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.measurements import origins
from allmlp.pipeline import working_tree
from tests.conftest import git
from tests.unit.test_ages import commit


@pytest.fixture
def root(project: Path) -> Path:
    """The tests' parameters and sources, committed."""
    (project / "src").mkdir()
    (project / "src/loop.py").write_text("RECIPE = 1\n")
    commit(project)
    return project


def test_a_clean_tree_says_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "README.md").write_text("of no run")
    (root / "my.yaml").write_text("scale: smoke")
    working_tree.refuse(root)
    working_tree.caution(root)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("file", ["src/loop.py", "src/new.py", "config/quadrature/smoke.yaml", "params.yaml"])
@pytest.mark.parametrize("staged", [True, False])
def test_every_changed_file_is_named_with_the_way_on(
    root: Path, file: str, staged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / file).write_text("# changed\n")
    if staged:
        git(root, "add", "--all")
    with pytest.raises(UserError, match=rf"^{file}: .*--dirty"):
        working_tree.refuse(root)
    working_tree.caution(root)
    assert capsys.readouterr().err.startswith(f"warning: {file}: ")


def test_a_moved_and_a_deleted_file_are_named(root: Path) -> None:
    (root / "src/loop.py").rename(root / "src/other.py")
    (root / "params.yaml").unlink()
    assert sorted(working_tree.changed_files(root)) == ["params.yaml", "src/loop.py", "src/other.py"]


def test_many_files_are_counted(root: Path) -> None:
    for number in range(working_tree.NAMED + 3):
        (root / f"src/{number:02d}.py").write_text("")
    assert working_tree.changed_files_line(root).endswith("src/07.py and 3 more")


def test_without_a_repository_of_this_project_nothing_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "params.yaml").write_text("# changed\n")
    (root / ".git").rename(tmp_path / "away")
    assert not origins.head_tree(root)
    working_tree.refuse(root)
    git(root, "init", "--quiet")
    working_tree.refuse(root)
