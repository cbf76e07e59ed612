"""Pinned states, with real git, dvc and a local remote: each comes back whole, and clones merge without conflict."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import call, edit, git
from tests.workflow.asking import contents, planned, up_to_date


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


@pytest.mark.slow
def test_pinned_states_come_back_whole(finished: Path) -> None:
    state_a, figures_a = git(finished, "rev-parse", "HEAD").strip(), contents(finished / "results/figures")
    change_and_run(finished, "learning_rate: 1e-3, weight_decay: 2.0", "learning_rate: 3e-3, weight_decay: 2.0")
    state_b, figures_b = commit(finished, "state B"), contents(finished / "results/figures")
    assert figures_a != figures_b
    other = finished.parent / "other"
    git(finished, "clone", "--quiet", str(finished), str(other))
    for state, figures in ((state_a, figures_a), (state_b, figures_b), (state_a, figures_a)):
        git(other, "checkout", "--quiet", state)
        call(other, "dvc", "pull", "--allow-missing")
        assert planned(other) == []
        assert up_to_date(other)
        assert contents(other / "results/figures") == figures
        assert git(other, "status", "--porcelain") == ""
    assert list((other / "results/checkpoints").glob("*/final.safetensors"))


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


def test_no_clone_needs_the_remote(fresh: Path) -> None:
    assert not (fresh.parent / "allmlp-remote").exists()
    shutil.rmtree(fresh / "results/figures/copying")
    call(fresh, "dvc", "repro")
    assert git(fresh, "status", "--porcelain") == ""
