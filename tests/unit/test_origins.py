"""Where a training comes from: git's tree of the sources, in a real repository with a history."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from allmlp.common import recipes
from allmlp.measurements import origins
from allmlp.measurements.origins import ProcessSources, Repository, read
from tests import tiny
from tests.conftest import PROJECT, git
from tests.unit.test_ages import commit


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project in a repository, whose sources this process seems to run."""
    sources = tmp_path / "project" / "src"
    (sources / "allmlp").mkdir(parents=True)
    (sources / "allmlp" / "loop.py").write_text("RECIPE = 1\n")
    git(sources.parent, "init", "--quiet", "--initial-branch=main")
    commit(sources.parent)
    monkeypatch.setattr(origins, "SOURCES", sources)
    origins.process_sources.cache_clear()
    yield sources.parent
    origins.process_sources.cache_clear()


def now() -> ProcessSources:
    """The sources of a process that starts now."""
    origins.process_sources.cache_clear()
    return read(origins.process_sources()).made[0]


def test_the_tree_is_the_one_of_git(repository: Path) -> None:
    sources = repository / "src"
    for name in ("allmlp/a.txt", "allmlp.py", "allmlp-b", "allmlp0", "z/y/x/ü.json"):  # folders sort as if they had a /
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_bytes(os.urandom(9))
    (sources / "allmlp-b").chmod(0o755)
    (sources / "link").symlink_to("allmlp/a.txt")
    (sources / "empty").mkdir()
    (sources / "allmlp.egg-info").mkdir()
    (sources / "allmlp" / "__pycache__").mkdir()
    for name in ("allmlp.egg-info/PKG-INFO", "allmlp/__pycache__/a.pyc"):
        (sources / name).write_text("made on this machine")
    (repository / ".gitignore").write_text("__pycache__/\n*.egg-info/\n")
    commit(repository)
    assert origins.tree(sources) == git(repository, "rev-parse", "HEAD:src").strip()


def test_the_tree_of_this_project_is_the_one_of_git(committed_last_mile: None) -> None:
    assert origins.tree(PROJECT / "src") == origins.head_tree(PROJECT)


def test_a_rewritten_history_that_has_the_content_still_has_the_origin(repository: Path) -> None:
    made = now()
    assert made.state == origins.CLEAN
    (repository / "src/allmlp/loop.py").write_text("RECIPE = 2\n")
    later = commit(repository)
    git(repository, "commit", "--amend", "--quiet", "--message=another name")
    first = git(repository, "rev-list", "--max-parents=0", "HEAD").strip()
    found = Repository.read(repository)
    assert found
    assert found.commits_with(made) == [first]
    assert found.commits_with(now()) == [git(repository, "rev-parse", "HEAD").strip()]
    assert found.commits_with(ProcessSources(commit=first[:9], state=origins.CLEAN)) == [first]
    assert not found.commits_with(ProcessSources(commit=later, state=origins.CLEAN)), (
        "that commit is in git, and in no history"
    )


def test_changed_sources_are_unknown_until_a_commit_has_them(repository: Path) -> None:
    (repository / "src/allmlp/new.py").write_text("")
    made = now()
    assert made.state == origins.CHANGED
    assert not Repository.read(repository).has_sources(read(f"src {made.tree} {made.state}"))  # type: ignore[union-attr]
    held = commit(repository)
    assert Repository.read(repository).commits_with(made) == [held]  # type: ignore[union-attr]


def test_without_a_repository_the_tree_is_still_recorded(repository: Path) -> None:
    there = now()
    (repository / ".git").rename(repository.parent / "away")
    assert now() == ProcessSources(tree=there.tree, state=origins.NO_REPOSITORY)
    assert Repository.read(repository) is None
    git(repository.parent, "init", "--quiet")  # a repository around it that is not this project's
    assert now().state == origins.NO_REPOSITORY


def test_a_history_that_is_cut_off_is_none(repository: Path) -> None:
    commit(repository)
    git(repository.parent, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    assert Repository.read(repository.parent / "shallow") is None


def test_all_processes_of_a_training_must_be_known(repository: Path) -> None:
    found, (tree, *_) = Repository.read(repository), now()
    assert found
    known, other = f"src {tree} clean", f"src {'0' * 40} clean"
    assert found.has_sources(read(f"Python 3.11, torch 2.13, {known}, recipes {'a' * 16}"))
    assert not found.has_sources(read(f"{known}, {other}"))
    assert not found.has_sources(read(f"{known}, {origins.NO_RECORD}"))
    assert not found.has_sources(read("Python 3.11, torch 2.13, commit unknown"))
    assert not found.has_sources(read(""))


def test_a_record_holds_the_sources_in_turn_and_the_digests_of_recipes() -> None:
    run = tiny.run("transformer")
    made = [f"src {'a' * 40} clean", f"src {'b' * 40} no repository"]
    said = f"Python 3.11, torch 2.13, {origins.record(made, run.modules)}"
    found = read(said)
    assert [one.state for one in found.made] == ["clean", "no repository"]
    assert found.recipes == tuple(map(recipes.fingerprint, run.modules))
    assert origins.parse_sources(said) == made
    assert origins.software(said) == "Python 3.11, torch 2.13"
    assert origins.parse_sources("Python 3.11") == [origins.NO_RECORD]
