"""The line of `snakemake --logger allmlp`: what it counts, and what it says of the time that is left."""

from pathlib import Path

import pytest

from allmlp import costs, params
from allmlp.pipeline import Pipeline, Work, of_plan
from allmlp.plan import Plan

WORKS = {
    "train_a": Work(runs=3, planned_s=30),
    "train_b": Work(runs=1, planned_s=90),
    "measure_a": Work(measurements=4),
    "measure_b": Work(measurements=8),
}


def begun(*jobs: str, at: float = 0, gpus: int = 0) -> Pipeline:
    """A call that will run everything; these have begun, numbered from 0."""
    pipeline = Pipeline(WORKS)
    pipeline.expect([*WORKS, "tokenize", "measurements", "total"])
    for number, rule in enumerate(jobs):
        pipeline.started(number, rule, at, 1, gpus)
    return pipeline


def test_runs_and_measurements_are_counted_and_jobs_without_any_are_not() -> None:
    pipeline = begun("train_a", "tokenize")
    assert pipeline.line(1) == "0 of 4 runs trained, 0 of 12 measurements taken, 2 cores busy"
    pipeline.ended(0, 60)
    pipeline.ended(1, 60)
    assert pipeline.line(60) == "3 of 4 runs trained, 0 of 12 measurements taken"
    pipeline.ended(7, 60)  # of a job that was never announced
    assert pipeline.line(60) == "3 of 4 runs trained, 0 of 12 measurements taken"


def test_a_job_that_trains_and_measures_counts_as_both() -> None:
    pipeline = Pipeline({"train_a": Work(3, 6, 30), "train_b": Work(1, 2, 90), "train_c": Work(1, 4)})
    pipeline.expect(pipeline.works)
    for number, rule in enumerate(pipeline.works):
        pipeline.started(number, rule, 0, 1, 0)
    pipeline.ended(2, 40)  # of a run without steps
    assert pipeline.left(40) is None, "planned seconds are asked for, and none have passed"
    pipeline.ended(0, 60)
    assert pipeline.line(60) == "4 of 5 runs trained, 10 of 12 measurements taken, 1 core busy, about 2 min left"
    assert pipeline.left(60) == pytest.approx((100 / 30 * 90 - 60) / (160 / 60))


def test_a_failed_job_has_made_nothing() -> None:
    pipeline = begun("train_a")
    pipeline.ended(0, 60, well=False)
    assert pipeline.line(60) == "0 of 4 runs trained, 0 of 12 measurements taken"


def test_gpus_are_said_in_place_of_cores() -> None:
    assert begun("train_a", gpus=1).line(1).endswith(", 1 GPU busy")
    assert begun("train_a", "train_b", gpus=2).line(1).endswith(", 4 GPUs busy")


def test_only_what_this_call_will_make_is_counted() -> None:
    pipeline = Pipeline(WORKS)
    pipeline.expect(["measure_a"])
    pipeline.started(0, "measure_a", 0, 1, 0)
    assert pipeline.line(0) == "0 of 4 measurements taken, 1 core busy"
    pipeline.ended(0, 8)
    pipeline.started(1, "measure_a", 8, 1, 0)
    assert pipeline.left(9) == 0, "all of it is done"
    assert Pipeline(WORKS).line(0) == ""


def test_the_time_left_is_said_once_a_training_and_a_measure_have_ended() -> None:
    pipeline = begun("train_a")
    pipeline.ended(0, 60)  # twice as long as planned
    pipeline.started(1, "measure_a", 60, 1, 0)
    assert pipeline.left(80) is None
    pipeline.ended(1, 80)  # 5 seconds each
    pipeline.started(2, "train_b", 80, 1, 0)
    assert pipeline.left(110) == pytest.approx(180 - 30 + 8 * 5)  # one job at a time
    assert pipeline.line(110).endswith(", 1 core busy, about 3 min left")
    assert pipeline.left(1000) == 0, "never less than nothing"


def test_jobs_side_by_side_halve_it() -> None:
    pipeline = begun("train_a", "measure_a")
    pipeline.ended(0, 60)
    pipeline.ended(1, 60)
    pipeline.started(2, "train_b", 60, 1, 0)
    pipeline.started(3, "measure_b", 60, 1, 0)
    assert pipeline.left(70) == pytest.approx((180 + 8 * 15 - 20) / 2)


def test_the_works_of_a_plan_are_its_open_runs_and_measurements(project: Path) -> None:
    plan = Plan(params.load(project / "params.yaml"), project)
    works = of_plan(plan).values()
    assert sum(work.runs for work in works) == len(plan.runs)
    assert sum(work.measurements for work in works) == len(plan.measurements)
    assert sum(work.planned_s for work in works) == pytest.approx(sum(costs.cost(r)["estimated_s"] for r in plan.runs))
