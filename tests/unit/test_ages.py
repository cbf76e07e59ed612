"""Which came first, rule or result, by the history of a real git repository."""

import contextlib
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from allmlp.common import paths
from allmlp.judging import rule_digests
from allmlp.judging.ages import History
from allmlp.measurements import store
from allmlp.measurements.measurement import Measurement
from allmlp.pipeline import prune
from tests.conftest import git

ONE, OTHER = "1" * 16, "2" * 16  # settings
PLACE = ("copying", "falls")
CLAIM = "002-1"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "README.md").write_text("a project")
    commit(folder)
    return folder


def commit(folder: Path, *words: str) -> str:
    """Commit everything. Returns the commit's hash."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=more", *words)
    return git(folder, "rev-parse", "HEAD").strip()


def rule(folder: Path, digest: str, **words: object) -> None:
    """Write the claim's line in rules.lock, above one that stays as it is."""
    line = rule_digests.Line(digest, **words)  # type: ignore[arg-type]
    (folder / rule_digests.LOCK).write_text(f"{line.text(CLAIM)}\n002-2 {'f' * 16}\n")


def measure(folder: Path, settings: str = ONE, digest: str = "a" * 8, recipe: int = 1) -> str:
    """Measure a run, and store that. Returns the settings."""
    run = f"rn-seed0-{digest}"
    with contextlib.chdir(folder):
        store.write(*PLACE, [(Measurement(run, settings, (1, 1, 1, recipe)), pa.table({"run": [run], "seed": [0]}))])
    return settings


def younger(folder: Path, *settings: str, where: str = "workstation") -> bool | None:
    lines = (folder / rule_digests.LOCK).read_text().splitlines() if (folder / rule_digests.LOCK).is_file() else []
    line = next((rule_digests._parse_line(text)[1] for text in lines if text.startswith(CLAIM)), None)
    history = History.read(folder)
    with contextlib.chdir(folder):
        return history.is_younger(CLAIM, line, where, [history.first_commits(*PLACE)[one] for one in settings])


def test_a_rule_before_its_results_is_older_and_one_after_them_younger(repository: Path) -> None:
    rule(repository, "a")
    commit(repository)
    rule(repository, "b")
    commit(repository)
    file = measure(repository)
    assert younger(repository, file) is False, "what is not committed yet is youngest"
    commit(repository)
    assert younger(repository, file) is False
    rule(repository, "c")
    assert younger(repository, file) is True
    commit(repository)
    assert younger(repository, file) is True
    assert younger(repository, file, measure(repository, OTHER)) is True, "the oldest result counts"


def test_a_rule_that_comes_with_its_results_is_not_younger(repository: Path) -> None:
    rule(repository, "a")
    commit(repository)
    rule(repository, "b")
    file = measure(repository)
    assert younger(repository, file) is False
    commit(repository)
    assert younger(repository, file) is False


@pytest.mark.parametrize("merged", [False, True])
def test_measuring_again_washes_nothing_off(repository: Path, merged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setattr(paths, "project", lambda: repository)
    rule(repository, "a")
    commit(repository)
    old = measure(repository)
    commit(repository)
    rule(repository, "b")
    commit(repository)
    again = measure(repository, digest="b" * 8, recipe=2)
    if merged:
        prune.compact({PLACE: [("rn-seed0-aaaaaaaa", 1)]})
        assert list(store.read_measure(*PLACE).places) == [("rn-seed0-bbbbbbbb", 2)]
    assert again == old
    assert younger(repository, again) is True, "the same settings, under another recipe and name"
    commit(repository)
    assert younger(repository, again) is True
    others = measure(repository, OTHER, digest="c" * 8)
    commit(repository)
    assert younger(repository, others) is False, "another run of the same name"


def test_results_that_were_older_when_the_history_began_stay_so(repository: Path) -> None:
    file = measure(repository)
    commit(repository)
    rule(repository, "a", older=("workstation",))
    commit(repository)
    assert younger(repository, file) is True
    assert younger(repository, file, where="laptop") is False
    later = measure(repository, OTHER, digest="b" * 8)
    commit(repository)
    assert younger(repository, later) is False, "a result of today is younger than a rule of then"


def test_a_rule_written_by_other_code_is_as_old_as_it_says(repository: Path) -> None:
    rule(repository, "a")
    commit(repository)
    rule(repository, "b")
    since = commit(repository)
    file = measure(repository)
    commit(repository)
    rule(repository, "c", since=since)
    commit(repository)
    assert younger(repository, file) is False
    rule(repository, "c", since="0" * 40)
    assert younger(repository, file) is None, "no such commit"


def test_a_line_beside_it_changes_no_age(repository: Path) -> None:
    rule(repository, "a")
    commit(repository)
    rule(repository, "b")
    commit(repository)
    file = measure(repository)
    commit(repository)
    lock = repository / rule_digests.LOCK
    lock.write_text(f"002-0 {'0' * 16}\n{lock.read_text()}002-3 {'1' * 16}\n")
    commit(repository)
    assert younger(repository, file) is False


@pytest.mark.parametrize("rule_first", [True, False])
def test_branches_are_ordered_by_their_authors_times(repository: Path, rule_first: bool) -> None:
    rule(repository, "a")
    commit(repository)
    dates = ["2020-01-01T00:00:00", "2020-01-02T00:00:00"]
    git(repository, "checkout", "--quiet", "-b", "results")
    file = measure(repository)
    commit(repository, f"--date={dates[rule_first]}")
    git(repository, "checkout", "--quiet", "main")
    rule(repository, "b")
    commit(repository, f"--date={dates[not rule_first]}")
    git(repository, "merge", "--quiet", "--no-edit", "results")
    assert younger(repository, file) is not rule_first


def test_without_history_nothing_is_guessed(repository: Path, tmp_path: Path) -> None:
    rule(repository, "a")
    file = measure(repository)
    assert younger(repository, file) is None, "rules.lock is not committed"
    commit(repository)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    assert younger(shallow, file) is None
    subprocess.run(["rm", "-rf", str(shallow / ".git")], check=True)
    assert younger(shallow, file) is None, "a tarball"
    (repository / rule_digests.LOCK).write_text("")
    assert younger(repository, file) is None, "no line for the claim"


def test_a_project_inside_a_larger_repository_has_a_history_too(repository: Path) -> None:
    inside = repository / "inside"
    inside.mkdir()
    rule(inside, "a")
    commit(repository)
    file = measure(inside)
    commit(repository)
    rule(inside, "b")
    commit(repository)
    assert younger(inside, file) is True
