"""Weights are released once nothing open reads them, and only where the parameters ask for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from allmlp.pipeline.release_weights import release
from allmlp.plan import params
from allmlp.plan.plan import Plan
from allmlp.plan.portable import ResolvedPlan
from allmlp.spec.run import Run, link_runs
from tests import tiny
from tests.conftest import PROJECT

pytestmark = pytest.mark.usefixtures("here")


def plan(*runs: Run, releases: bool = True) -> ResolvedPlan:
    known = link_runs({run.id: run for run in runs}, "here")
    return ResolvedPlan("paper", known, [run.id for run in known], {}, {}, releases=releases)


def trained(*runs: Run) -> None:
    for run in runs:
        run.folder.mkdir(parents=True)
        for name in ("step-0.safetensors", "final.safetensors", "run.json", "log.parquet"):
            (run.folder / name).touch()


def measured(*runs: Run) -> None:
    for file in (file for run in runs for file in run.measurements.values()):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()


def left(run: Run) -> list[str]:
    return sorted(path.name for path in run.folder.iterdir())


PARENT = tiny.run("transformer", steps=3)
SEARCH = tiny.run("transformer", steps=4, measures=())
CHILD = tiny.run("transformer", steps=5, parent=PARENT.id, search=(SEARCH.id,))
WHOLE = ["final.safetensors", "log.parquet", "run.json", "step-0.safetensors"]


def test_a_measured_run_loses_its_weights_and_keeps_its_log() -> None:
    trained(PARENT)
    assert release(plan(PARENT)) == []
    measured(PARENT)
    assert release(plan(PARENT)) == [PARENT.id]
    assert left(PARENT) == ["log.parquet", "run.json"]
    assert release(plan(PARENT)) == []


def test_weights_are_kept_unless_the_plan_releases() -> None:
    trained(PARENT)
    measured(PARENT)
    assert release(plan(PARENT, releases=False)) == []
    assert left(PARENT) == WHOLE


def test_a_parent_stays_until_its_child_is_measured_and_a_search_until_it_is_trained() -> None:
    family = plan(PARENT, SEARCH, CHILD)
    trained(PARENT, SEARCH)
    measured(PARENT)
    assert release(family) == []
    trained(CHILD)
    assert release(family) == [SEARCH.id]
    measured(CHILD)
    assert release(family) == sorted([PARENT.id, CHILD.id])


def test_the_runs_of_a_batch_go_together_because_snakemake_wants_all_inputs_of_a_job() -> None:
    first, second = (replace(PARENT, seed=seed, runs_per_process=2) for seed in (0, 1))
    trained(first, second)
    measured(first)
    assert release(plan(first, second)) == []
    measured(second)
    assert release(plan(first, second)) == sorted([first.id, second.id])


def test_what_dvc_points_to_and_runs_of_other_plans_stay() -> None:
    other = replace(PARENT, seed=7)
    trained(PARENT, other)
    measured(PARENT, other)
    Path(f"{PARENT.folder}.dvc").touch()
    assert release(plan(PARENT)) == []
    assert left(PARENT) == left(other) == WHOLE


def test_the_rest_of_a_killed_release_goes_with_the_next_one() -> None:
    trained(PARENT)
    measured(PARENT)
    Path(PARENT.checkpoint).unlink()
    assert release(plan(PARENT)) == [PARENT.id]
    assert left(PARENT) == ["log.parquet", "run.json"]


@pytest.mark.parametrize("scale", ["laptop", "workstation", "long", "gpu", "paper"])
@pytest.mark.parametrize("weights", [None, "kept", "released"])
def test_only_the_paper_scale_releases_unless_asked(scale: str, weights: str | None) -> None:
    found = params.Params(scale, None, (), {}, {}, weights)  # type: ignore[arg-type]
    assert Plan(found, PROJECT).releases == (weights == "released" or (weights is None and scale == "paper"))
