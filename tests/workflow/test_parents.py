"""Runs that need others, through real Snakemake: a parent first, then its child, with the rate that a search chose."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import call, edit, only, small_clone
from tests.workflow.asking import jobs

STUDY, SCALE = "config/copying/study.yaml", "config/copying/smoke.yaml"
PARAMETERS = """studies:
  copying:
    optimiser: {learning_rate: 1.0, warmup_steps: 1}
    steps: 20
    parent_steps: 5
"""
RUNS = '''"""A parent, a search, and their child, listed before them."""

from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser, StudySettings


class Settings(StudySettings):
    optimiser: Optimiser
    parent_steps: int


def runs(settings, context):
    def made(name, rate, steps, **changes):
        return Run(
            study="copying", name=name, labels={"model": "transformer"}, architecture="transformer",
            hyperparameters={"vocabulary": 29, "context": 10, "d_model": 16, "n_blocks": 1},
            task="copying", task_parameters={"string_length": 4, "batch_size": 4},
            optimiser={**settings.optimiser.model_dump(), "learning_rate": rate}, steps=steps, seed=0,
            **{"measures": ("cost",), **changes, **settings.machine(context.device)},
        )

    parent = made("parent", 1e-3, settings.parent_steps)
    search = [made("search", rate, 20, measures=()) for rate in (1e-6, 1e-2)]
    ids = tuple(run.id for run in search)
    child = made("child", 1.0, settings.steps, parent=parent.id, continues=True, keep=(0,), search=ids)
    return [child, parent, *search]
'''
PARENT, SEARCH, CHILD = (
    ["train copying-parent-seed0"],
    ["train copying-search-seed0"] * 2,
    ["train copying-child-seed0"],
)
MEASURES = ["measure copying-child-seed0", "measure copying-parent-seed0"]


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A clone whose only study is a parent, two runs of a search and a child."""
    clone = small_clone(tmp_path / "clone")
    only(clone, "copying")
    (clone / STUDY).write_text(PARAMETERS)
    (clone / SCALE).write_text("studies: {copying: {seeds: [0]}}\n")
    shutil.rmtree(clone / "src/allmlp/studies/copying/runs")
    (clone / "src/allmlp/studies/copying/runs.py").write_text(RUNS)
    return clone


def ids(clone: Path) -> dict[str, list[str]]:
    """name -> the ids of its runs."""
    found: dict[str, list[str]] = {}
    for record in json.loads(call(clone, "allmlp", "plan", "--format", "json").stdout)["runs"]:
        found.setdefault(record["run"].split("-seed")[0], []).append(record["run"])
    return found


@pytest.mark.slow
def test_parents_come_first_and_are_trained_again_only_where_a_child_needs_them(family: Path) -> None:
    names = ids(family)
    (child,), (parent,) = names["child"], names["parent"]
    said = call(family, "allmlp", "train", child, ok=False)
    assert said.returncode == 2
    assert f"{child} needs {parent}, its parent (and 2 more), which is not trained here" in said.stderr
    assert f"allmlp train {parent} {' '.join(names['search'])}" in said.stderr

    assert jobs(family) == [*MEASURES, *CHILD, *PARENT, *SEARCH]
    call(family, "snakemake", "measurements", "--cores", "2")
    folder = family / "results/checkpoints"
    made = {one: (folder / one / "run.json").stat().st_mtime_ns for name in names.values() for one in name}
    assert max(made, key=lambda one: made[one]) == child
    assert json.loads((folder / child / "run.json").read_text())["learning_rate"] == 1e-2
    begun, ended = folder / child / "step-0.safetensors", folder / parent / "final.safetensors"
    assert begun.read_bytes() == ended.read_bytes()
    assert jobs(family) == []

    for left in ("results/checkpoints", "work/runs", ".snakemake"):
        shutil.rmtree(family / left, ignore_errors=True)
    assert jobs(family) == []
    (measured,) = (family / "work/measurements/copying/cost").glob("child-*.parquet")
    measured.unlink()
    assert jobs(family) == [MEASURES[0], *CHILD, *PARENT, *SEARCH]
    call(family, "snakemake", "measurements", "--cores", "2")
    assert jobs(family) == []

    measured.unlink()
    assert jobs(family) == MEASURES[:1], "its weights are there"
    shutil.rmtree(folder / child)
    assert jobs(family) == [MEASURES[0], *CHILD], "what it needs is there"
    edit(family, STUDY, "parent_steps: 5", "parent_steps: 6")
    renamed = ids(family)
    assert renamed["search"] == names["search"]
    assert not {*renamed["parent"], *renamed["child"]} & {parent, child}
    assert jobs(family) == [*MEASURES, *CHILD, *PARENT]


@pytest.mark.slow
def test_one_process_trains_a_whole_family(family: Path) -> None:
    edit(family, SCALE, "seeds: [0]", "seeds: [0], runs_per_process: 9")
    assert jobs(family) == ["measure copying-seed0", "train copying-seed0"]
    call(family, "snakemake", "measurements", "--cores", "1")
    assert jobs(family) == []


@pytest.mark.slow
def test_on_a_cluster_other_jobs_measure(family: Path) -> None:
    profile = ("--workflow-profile", "workflow/profiles/slurm")
    ask = ("snakemake", "-n", "--printshellcmds", "measurements")
    here, there = (call(family, *ask, *words).stdout for words in ((), profile))
    assert here.count(" --measure ") == here.count("allmlp train ") == there.count("allmlp train ") == 4
    assert there.count(" --measure ") == 0
