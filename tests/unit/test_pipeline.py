"""The line of `snakemake --logger allmlp`: what it counts, and what it says of the time that is left."""

from pathlib import Path

import pytest

from allmlp.pipeline.progress_line import Pipeline, Work, find_work
from allmlp.plan import costs, params
from allmlp.plan.plan import Plan

TRAIN_A, TRAIN_B, MEASURE_A, MEASURE_B, TOKENIZE = range(5)
WORKS = {
    TRAIN_A: Work(runs=3, planned_s=30),
    TRAIN_B: Work(runs=1, planned_s=90),
    MEASURE_A: Work(measurements=4),
    MEASURE_B: Work(measurements=8),
}


def begun(*jobs: int, at: float = 0, gpus: int = 0) -> Pipeline:
    """A call that will run everything; these jobs have begun."""
    pipeline = Pipeline(WORKS)
    for job in jobs:
        pipeline.note_start(job, at, 1, gpus)
    return pipeline


def test_runs_and_measurements_are_counted_and_jobs_without_any_are_not() -> None:
    pipeline = begun(TRAIN_A, TOKENIZE)
    assert pipeline.line(1) == "0 of 4 runs trained, 0 of 12 measurements taken, 2 cores busy"
    pipeline.end_job(TRAIN_A, 60)
    pipeline.end_job(TOKENIZE, 60)
    assert pipeline.line(60) == "3 of 4 runs trained, 0 of 12 measurements taken"
    pipeline.end_job(7, 60)  # of a job that was never announced
    assert pipeline.line(60) == "3 of 4 runs trained, 0 of 12 measurements taken"


def test_a_job_that_trains_and_measures_counts_as_both() -> None:
    pipeline = Pipeline({0: Work(3, 6, 30), 1: Work(1, 2, 90), 2: Work(1, 4), 3: Work()})
    for job in range(3):
        pipeline.note_start(job, 0, 1, 0)
    pipeline.end_job(2, 40)  # of a run without steps
    assert pipeline.seconds_left(40) is None, "planned seconds are asked for, and none have passed"
    pipeline.end_job(0, 60)
    assert pipeline.line(60) == "4 of 5 runs trained, 10 of 12 measurements taken, 1 core busy, about 2 min left"
    assert pipeline.seconds_left(60) == pytest.approx((100 / 30 * 90 - 60) / (160 / 60))


def test_a_failed_job_has_made_nothing() -> None:
    pipeline = begun(TRAIN_A)
    pipeline.end_job(TRAIN_A, 60, well=False)
    assert pipeline.line(60) == "0 of 4 runs trained, 0 of 12 measurements taken"


def test_gpus_are_said_in_place_of_cores() -> None:
    assert begun(TRAIN_A, gpus=1).line(1).endswith(", 1 GPU busy")
    assert begun(TRAIN_A, TRAIN_B, gpus=2).line(1).endswith(", 4 GPUs busy")


def test_only_what_this_call_will_make_is_counted() -> None:
    pipeline = Pipeline({MEASURE_A: WORKS[MEASURE_A]})
    pipeline.note_start(MEASURE_A, 0, 1, 0)
    assert pipeline.line(0) == "0 of 4 measurements taken, 1 core busy"
    pipeline.end_job(MEASURE_A, 8)
    pipeline.note_start(TOKENIZE, 8, 1, 0)
    assert pipeline.seconds_left(9) == 0, "all of it is done"
    assert Pipeline({}).line(0) == ""


def test_the_time_left_is_said_once_a_training_and_a_measure_have_ended() -> None:
    pipeline = begun(TRAIN_A)
    pipeline.end_job(TRAIN_A, 60)  # twice as long as planned
    pipeline.note_start(MEASURE_A, 60, 1, 0)
    assert pipeline.seconds_left(80) is None
    pipeline.end_job(MEASURE_A, 80)  # 5 seconds each
    pipeline.note_start(TRAIN_B, 80, 1, 0)
    assert pipeline.seconds_left(110) == pytest.approx(180 - 30 + 8 * 5)  # one job at a time
    assert pipeline.line(110).endswith(", 1 core busy, about 3 min left")
    assert pipeline.seconds_left(1000) == 0, "never less than nothing"


def test_jobs_side_by_side_halve_it() -> None:
    pipeline = begun(TRAIN_A, MEASURE_A)
    pipeline.end_job(TRAIN_A, 60)
    pipeline.end_job(MEASURE_A, 60)
    pipeline.note_start(TRAIN_B, 60, 1, 0)
    pipeline.note_start(MEASURE_B, 60, 1, 0)
    assert pipeline.seconds_left(70) == pytest.approx((180 + 8 * 15 - 20) / 2)


@pytest.mark.parametrize("apart", [False, True])
def test_the_works_of_a_plan_are_its_open_runs_and_measurements(project: Path, apart: bool) -> None:
    plan = Plan(params.load(project / "params.yaml"), project)
    plan.apart = apart
    works = [find_work(plan, rule, name) for name in plan.batches for rule in ("train", "measure")]
    assert sum(work.runs for work in works) == len(plan.runs)
    assert sum(work.measurements for work in works) == len(plan.measurements)
    assert sum(work.planned_s for work in works) == pytest.approx(sum(costs.cost(r)["estimated_s"] for r in plan.runs))
    assert apart == any(work.kind == "measurements" and work.measurements for work in works)
