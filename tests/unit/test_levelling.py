"""Has a loss levelled off: slopes of known curves, their errors, and what cannot be told."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from allmlp.judging.levelling import (
    BLOCKS,
    LIMIT,
    NONE,
    T_975,
    Curve,
    curve_from_log,
    fit_line,
    is_within_limit,
    measure_level,
    slope_per_step,
)

BUDGET = 2000
STEPS = np.arange(BUDGET)
NEVER = np.full(BUDGET, np.nan)


def falling(slope: float, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """A loss that changes by `slope` nats with each doubling of the steps."""
    return 3 + slope * np.log2(STEPS + 1.0) + np.random.default_rng(seed).normal(0, noise, BUDGET)


def test_the_slope_of_a_known_curve_is_found() -> None:
    curve = Curve(STEPS, falling(-0.3), NEVER)
    found = measure_level(curve, BUDGET)
    assert found.per_doubling == pytest.approx(-0.3, rel=2e-3)
    assert slope_per_step(curve, BUDGET) == pytest.approx(-0.3 / math.log(2) / (0.875 * BUDGET), rel=0.02)
    assert found.loss == pytest.approx(falling(-0.3)[1500:].mean())
    assert (found.source, found.values, found.level) == ("training", 500, False)


def test_only_the_last_quarter_counts() -> None:
    early = np.where(STEPS < 1500, falling(-1.0), 2.0)
    assert measure_level(Curve(STEPS, early, NEVER), BUDGET).per_doubling == pytest.approx(0)


@pytest.mark.parametrize(("slope", "level"), [(0.0, True), (0.01, True), (-0.01, True), (-0.05, False), (0.05, False)])
def test_level_is_a_slope_within_the_limit_whichever_way_it_goes(slope: float, level: bool) -> None:
    assert measure_level(Curve(STEPS, falling(slope, noise=0.001), NEVER), BUDGET).level is level


def test_noise_leaves_open_what_it_hides() -> None:
    assert measure_level(Curve(STEPS, falling(0.0, noise=1.0), NEVER), BUDGET).level is None
    assert is_within_limit(LIMIT, 1e-9) is None
    assert is_within_limit(-3 * LIMIT, LIMIT) is False


def test_the_quantiles_are_students() -> None:
    assert pytest.approx(stdtrit(np.arange(1, BLOCKS - 1), 0.975), abs=5e-4) == T_975


@pytest.mark.parametrize("values", [4, 6, 12, BLOCKS, 400])
def test_the_interval_of_the_slope_holds_the_true_one_about_as_often_as_it_says(values: int) -> None:
    rng, x = np.random.default_rng(1), np.linspace(10.5, 11, values)
    reach = stdtrit(min(values, BLOCKS) - 2, 0.975)
    lines = [fit_line(x, 3 - 0.1 * x + rng.normal(0, 0.1, values)) for _ in range(600)]
    held = np.mean([abs(line.slope + 0.1) < reach * line.error for line in lines])
    assert 0.90 < held < 0.98


def test_a_single_leap_of_the_loss_does_not_tilt_the_line() -> None:
    leaping = falling(0.0, noise=0.01)
    leaping[-20:] += 5.0
    line = fit_line(np.log2(STEPS[1500:]), leaping[1500:])
    plain = np.polyfit(np.log2(STEPS[1500:]), leaping[1500:], 1)[0]
    assert plain > 1
    assert abs(line.slope) < 0.05


def test_held_out_losses_are_taken_where_there_are_enough_of_them() -> None:
    held_out = NEVER.copy()
    held_out[[1500, 1700]] = 2.5
    assert measure_level(Curve(STEPS, falling(-0.3), held_out), BUDGET).source == "training"
    held_out[[1600, 1800, 1999]] = 2.5
    found = measure_level(Curve(STEPS, falling(-0.3), held_out), BUDGET)
    assert (found.source, found.values, found.level) == ("held-out", 5, True)


def test_a_log_too_short_for_an_error_gives_only_the_slope() -> None:
    found = measure_level(Curve(STEPS[:10], falling(-0.3)[:10], NEVER[:10]), budget=10)  # steps 8 and 9
    assert found.per_doubling == pytest.approx(-0.3, rel=0.2)
    assert math.isnan(found.error)
    assert found.level is None
    assert measure_level(Curve(STEPS[:2], falling(0.0)[:2], NEVER[:2]), budget=2).source == "none"
    assert measure_level(Curve(STEPS[:0], NEVER[:0], NEVER[:0]), budget=2).level is None


def test_a_training_that_ended_before_its_budget_has_not_levelled_off() -> None:
    assert measure_level(Curve(STEPS[:1800], falling(0.0)[:1800], NEVER[:1800]), BUDGET).level is False


def test_a_log_becomes_a_curve_with_the_loss_at_the_end() -> None:
    log = pd.DataFrame({"step": [0, 1], "loss": [2.0, 1.0], "validation_loss": [2.5, None]})
    curve = curve_from_log(log, 2, 0.5)
    assert curve.steps.tolist() == [0, 1, 2]
    np.testing.assert_equal(curve.training, [2.0, 1.0, NONE])
    np.testing.assert_equal(curve.held_out, [2.5, NONE, 0.5])
    assert np.isnan(curve_from_log(log.drop(columns="validation_loss"), 2, None).held_out).all()
