"""Which of the runs behind a claim, or a figure, have levelled off, by their measure, their curve or their seeds."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allmlp.judging import training_levels
from allmlp.judging.evidence import Evidence
from allmlp.plan.plan import load_plan
from allmlp.report.render import templates
from allmlp.spec import catalogue
from allmlp.studies.shared.measures import levelled
from allmlp.training.task import build_task
from tests import stored, tiny
from tests.conftest import PROJECT

pytestmark = pytest.mark.usefixtures("here")

STEPS = np.arange(400)


def curve(slope: float, noise: float = 0.001, seed: int = 0, every: int = 1) -> pd.DataFrame:
    loss = 3 + slope * np.log2(STEPS + 1) + np.random.default_rng(seed).normal(0, noise, len(STEPS))
    return pd.DataFrame({"step": STEPS, "loss_nats": loss})[::-1][::every][::-1]


def found(**measures: dict[str, pd.DataFrame]) -> Evidence:
    """Evidence with these measurements (measure -> run -> rows), all runs with settings of their own but for seeds."""
    names = sorted({run for rows in measures.values() for run in rows})
    runs = {
        run: {"labels": {"part": run.split("-")[0]}, "seed": int(run[-1]), "steps": 0 if "untrained" in run else 400}
        for run in names
    }
    planned = {name: list(of_runs) for name, of_runs in measures.items()}
    held = {name: stored.put("copying", name, of_runs) for name, of_runs in measures.items()}
    digests = {name: stored.digest("copying", name, of) for name, of in held.items()}
    content = {"runs": runs, "planned": planned, "measurements": held, "digests": digests}
    return Evidence("copying", "workstation", content)


def row(level: float, slope: float = 0.0) -> pd.DataFrame:
    values = (400, float("nan"), "training", 100, 2.0, slope, 0.01, float("nan"), level)
    return pd.DataFrame([dict(zip(levelled.columns, values, strict=True))])


def test_runs_are_counted_by_their_curves() -> None:
    curves = {"a-seed0": curve(0.0), "a-seed1": curve(-0.4), "b-seed0": curve(0.0, noise=5.0)}
    there = found(loss_curve=curves, end=dict.fromkeys([*curves, "c-seed0", "untrained-seed0"], row(1.0)))
    expected = {"level": 1, "of": 4, "unknown": 2, "steps": [400, 400]}
    assert training_levels.measure_levels(there, there.trainings(["end"])) == expected
    assert training_levels.measure_levels(there, there.trainings(["loss_curve"])) == {**expected, "of": 3, "unknown": 1}


def test_the_measure_comes_before_the_curve() -> None:
    there = found(loss_curve={"a-seed0": curve(-0.4)}, levelled={"a-seed0": row(1.0)})
    assert training_levels.run_levels(there)["a-seed0"].level is True


def test_every_measure_with_a_curve_is_understood() -> None:
    known = {(study, name) for study in catalogue.STUDIES for name in catalogue.measures(study)}
    for study, name in sorted(known):
        if name in training_levels.CURVES:
            columns = catalogue.measure(study, name).columns
            assert "step" in columns
            assert set(columns) & set(training_levels.TRAINING), name
    assert {name for _, name in known} >= set(training_levels.CURVES)


def test_seeds_decide_together_if_a_run_alone_cannot() -> None:
    coarse = {f"a-seed{seed}": curve(-0.4, seed=seed, every=60) for seed in range(3)}
    two = {f"b-seed{seed}": curve(-0.4, seed=seed, every=60) for seed in range(2)}
    noisy = {f"c-seed{seed}": curve(0.0, noise=8.0, seed=seed) for seed in range(5)}
    ended = training_levels.run_levels(found(loss_curve={**coarse, **two, **noisy}))
    assert [ended[run].level for run in coarse] == [False] * 3
    assert [ended[run].level for run in [*two, *noisy]] == [None] * 7


def test_runs_that_only_choose_a_rate_are_not_compared() -> None:
    there = found(cost={"a-seed0": row(1.0), "rates-seed9": row(1.0)}, end={"a-seed0": row(1.0)})
    assert there.trainings(["cost"]) == ["a-seed0"]
    measured = found(end={"a-seed0": row(1.0), "search-seed9": row(1.0)})
    assert measured.trainings(["end"]) == ["a-seed0"], "a search's runs may have measures of their own"
    assert found(exact={"untrained-seed0": row(1.0)}).trainings(["exact"]) == []
    assert training_levels.measure_levels(there, []) is None


def test_the_page_says_how_many_and_after_how_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    parts = templates().get_template("parts.html.j2").module
    said = {"levelled": {"level": 1, "of": 6, "unknown": 2, "steps": [150, 1500]}}
    assert "After 150 to 1,500 steps: 1 of 6 runs have levelled off, not known of 2, tested too seldom" in parts.ending(
        said
    )
    assert "3 of 6 runs not levelled off" in parts.still_moving(said)
    one = {"levelled": {"level": 1, "of": 1, "unknown": 0, "steps": [150, 150]}}
    assert "After 150 steps: 1 of 1 run has levelled off." in parts.ending(one)
    none = {"levelled": {"level": 0, "of": 6, "unknown": 6, "steps": [150, 150]}}
    assert "After 150 steps: whether 6 runs levelled off is not known, tested too seldom" in parts.ending(none)
    assert not parts.still_moving(none).strip()
    for nothing in ({"levelled": None}, {}):
        assert not (parts.ending(nothing) + parts.still_moving(nothing)).strip()
    assert not parts.still_moving(one).strip()


@pytest.mark.usefixtures("published")
def test_every_training_from_long_on_is_measured_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    plan = load_plan()
    for name, of_study in plan.runs_by_scale.items():
        scale = plan.recorded_plans[name].scale if name in plan.recorded_plans else name
        for run in (run for runs in of_study.values() for run in runs):
            assert ("levelled" in run.measures) == (run.steps > 0 and scale in ("long", "gpu", "paper")), run.id


def trained(architecture: str, log: pd.DataFrame, **changes: Any) -> SimpleNamespace:
    run = tiny.run(architecture, steps=len(log), **changes)
    ending = {"steps_done": len(log), "validation_loss": None}
    return SimpleNamespace(run=run, log=log, ending=ending, task=lambda: build_task(run))


def test_the_measure_counts_readings_and_slopes_by_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    log = curve(-0.4).rename(columns={"loss_nats": "loss"})
    text = levelled(trained("mlp", log, corpus="tiny"))  # type: ignore[arg-type]
    batches = build_task(tiny.run("mlp")).batches_per_epoch  # type: ignore[attr-defined]
    one = text.iloc[0]
    assert one.readings_1 == pytest.approx(400 / batches)
    assert one.slope_nats_per_doubling == pytest.approx(-0.4, abs=0.02)
    assert one.slope_nats_per_reading == pytest.approx(-0.4 / np.log(2) / 350 * batches, rel=0.05)
    assert one.level_1 == 0
    pairs = levelled(trained("constant-attention", log)).iloc[0]  # type: ignore[arg-type]
    assert pairs.readings_1 == 400
    endless = levelled(trained("causal-rn", log)).iloc[0]  # type: ignore[arg-type]
    assert np.isnan(endless.readings_1)
    assert np.isnan(endless.slope_nats_per_reading)
    assert json.loads(text.to_json())["source"] == {"0": "training"}
