"""Runs that need others, through real Snakemake: a parent first, then its child, with the rate that a search chose."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import call, edit, only, small_clone
from tests.workflow.asking import planned

STUDY, SCALE = "config/copying/study.yaml", "config/copying/smoke.yaml"
PARAMETERS = """studies:
  copying:
    optimiser: {learning_rate: 1.0, warmup_steps: 1}
    steps: 20
    parent_steps: 5
"""
RUNS = '''"""A parent, a search, and their child, listed before them."""

from allmlp.run import Run
from allmlp.studies.settings import Optimiser, StudySettings


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
PARENT, SEARCH, CHILD = ["train_copying_1"], ["train_copying_2", "train_copying_3"], ["train_copying_4"]


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


def jobs(clone: Path) -> list[str]:
    """What Snakemake would train and measure, by rule."""
    return [name for name in planned(clone, "measurements") if name != "measurements"]


@pytest.mark.slow
def test_parents_come_first_and_are_trained_again_only_where_a_child_needs_them(family: Path) -> None:
    names = ids(family)
    (child,), (parent,) = names["child"], names["parent"]
    said = call(family, "allmlp", "train", child, ok=False)
    assert said.returncode == 2
    assert f"{child} needs {parent}, its parent (and 2 more), which is not trained here" in said.stderr
    assert f"allmlp train {parent} {' '.join(names['search'])}" in said.stderr

    assert jobs(family) == [*PARENT, *SEARCH, *CHILD]
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
    assert jobs(family) == [*PARENT, *SEARCH, *CHILD]
    call(family, "snakemake", "measurements", "--cores", "2")
    assert jobs(family) == []

    measured.unlink()
    assert jobs(family) == ["measure_copying_4"], "its weights are there"
    shutil.rmtree(folder / child)
    assert jobs(family) == CHILD, "what it needs is there; a batch keeps its number"
    edit(family, STUDY, "parent_steps: 5", "parent_steps: 6")
    renamed = ids(family)
    assert renamed["search"] == names["search"]
    assert not {*renamed["parent"], *renamed["child"]} & {parent, child}
    assert jobs(family) == [*PARENT, *CHILD]


@pytest.mark.slow
def test_one_process_trains_a_whole_family(family: Path) -> None:
    edit(family, SCALE, "seeds: [0]", "seeds: [0], runs_per_process: 9")
    assert jobs(family) == ["train_copying_1"]
    call(family, "snakemake", "measurements", "--cores", "1")
    assert jobs(family) == []


@pytest.mark.slow
def test_on_a_cluster_other_jobs_measure(family: Path) -> None:
    profile = ("--workflow-profile", "workflow/profiles/slurm")
    measures = ["measure_copying_1", "measure_copying_4"]
    trainings = [*PARENT, *SEARCH, *CHILD]
    assert planned(family, "measurements", *profile) == sorted([*measures, *trainings, "measurements"])
