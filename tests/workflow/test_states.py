"""Pinned states, with real git, dvc and a local remote: each comes back whole, and clones merge without conflict."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import call, edit, git
from tests.workflow.asking import planned, up_to_date


def commit(clone: Path, message: str) -> str:
    """Commit everything. Returns the commit's hash."""
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", f"--message={message}")
    return git(clone, "rev-parse", "HEAD").strip()


def change_and_run(clone: Path, old: str, new: str) -> None:
    """Another state: one parameter changed, its runs trained, kept and pushed."""
    edit(clone, "config/quadrature/study.yaml", old, new)
    call(clone, "snakemake", "--cores", "2")
    call(clone, "allmlp", "keep", "--push")


def results(clone: Path) -> dict[str, bytes]:
    """What git has of a clone's results."""
    listed = git(clone, "ls-files", "results").splitlines()
    return {str(Path(name).relative_to("results")): (clone / name).read_bytes() for name in listed}


def change_rate(clone: Path) -> None:
    """A state with another parameter and its results."""
    change_and_run(clone, "learning_rate: 1e-3, weight_decay: 2.0", "learning_rate: 3e-3, weight_decay: 2.0")


def add_recorded(clone: Path) -> None:
    """A state with the measurement of a recorded overlay, which the plan does not have."""
    overlay = "config/recorded/other.yaml"
    (clone / overlay).parent.mkdir()
    (clone / overlay).write_text("scale: smoke\nstudies: {quadrature: {seeds: [7]}}\n")
    edit(clone, "params.yaml", "recorded: []", f"recorded: [{overlay}]")
    call(clone, "snakemake", "--cores", "2", "--configfile", "params.yaml", overlay)
    call(clone, "allmlp", "keep", "--push")


def change_figure(clone: Path) -> None:
    """A state with another drawing of the same measurements."""
    edit(clone, "src/allmlp/studies/quadrature/figures/sums.py", "BINS = 31", "BINS = 21")
    call(clone, "dvc", "repro")


@pytest.mark.slow
def test_every_state_comes_back_whole_in_another_clone(finished: Path) -> None:
    states = {git(finished, "rev-parse", "HEAD").strip(): results(finished)}
    for change in (change_rate, add_recorded, change_figure):
        change(finished)
        state = commit(finished, change.__name__)
        states[state] = results(finished)
    assert len({files["tables/runs.csv"] for files in states.values()}) == len(states) - 1, "runs of two changes"
    assert len({files["figures/quadrature/phases.svg"] for files in states.values()}) == len(states) - 1
    other = finished.parent / "other"
    git(finished, "clone", "--quiet", str(finished), str(other))
    for state, files in reversed(states.items()):
        git(other, "checkout", "--quiet", state)
        call(other, "dvc", "pull", "--allow-missing")
        pointers = list((other / "results/checkpoints").glob("*.dvc"))
        assert pointers
        assert all(pointer.with_suffix("").is_dir() for pointer in pointers)
        assert planned(other) == []
        assert up_to_date(other)
        assert results(other) == files
        assert git(other, "status", "--porcelain") == ""


def test_the_remote_holds_every_file_that_was_kept(finished: Path) -> None:
    remote = finished.parent / "allmlp-remote"
    kept = [path for path in (finished / "results/checkpoints").glob("*/*") if path.is_file()]
    assert len(kept) > 10
    stored = {path.read_bytes() for path in remote.rglob("*") if path.is_file()}
    assert all(path.read_bytes() in stored for path in kept)


@pytest.mark.slow
def test_two_clones_that_each_keep_a_run_merge(finished: Path) -> None:
    first, second = finished.parent / "first", finished.parent / "second"
    pointers = {path.name: path.read_bytes() for path in (finished / "results/checkpoints").glob("*.dvc")}
    for clone, rate in ((first, "1.1e-3"), (second, "1.2e-3")):
        git(finished, "clone", "--quiet", str(finished), str(clone))
        edit(
            clone,
            "config/quadrature/study.yaml",
            "learning_rate: 1e-3, weight_decay: 2.0",
            f"learning_rate: {rate}, weight_decay: 2.0",
        )
        call(clone, "snakemake", "--cores", "2", "measurements")
        call(clone, "allmlp", "keep")
        git(clone, "checkout", "--quiet", "config")
        now = {path.name: path.read_bytes() for path in (clone / "results/checkpoints").glob("*.dvc")}
        assert len(now) == len(pointers) + 1, "one new pointer"
        assert pointers.items() <= now.items(), "the others as they were"
        commit(clone, f"a run at {rate}")
    git(first, "pull", "--quiet", "--no-rebase", "--no-edit", str(second), "main")
    assert len(list((first / "results/checkpoints").glob("*.dvc"))) == len(pointers) + 2
    assert git(first, "status", "--porcelain") == ""


@pytest.mark.slow
def test_no_clone_needs_the_remote(fresh: Path) -> None:
    assert not (fresh.parent / "allmlp-remote").exists()
    shutil.rmtree(fresh / "results/figures/copying")
    call(fresh, "dvc", "repro")
    assert git(fresh, "status", "--porcelain") == ""
