"""Means over steps do not depend on which rows of a log were kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.studies.copying import convergence
from allmlp.studies.shared.curve_statistics import end_mean, first_step_below, interval_mean
from allmlp.studies.shared.curves import kept_rows

STEPS = np.arange(5000)
LOSS = convergence.plateau(16) / (1 + np.exp((STEPS - 300) / 40)) + 0.2 * (STEPS / 5000) ** 2  # falls, then rises
KEPT = kept_rows(len(STEPS), 2000)  # dense at the beginning


def test_a_mean_of_rows_is_not_the_mean_over_the_steps() -> None:
    assert LOSS[KEPT].mean() > 1.5 * LOSS.mean()


@pytest.mark.parametrize(("first", "last"), [(0, 4999), (0, 700), (250, 350), (4750, 4999), (4999, 4999)])
def test_a_mean_over_steps_is_that_of_the_whole_log(first: int, last: int) -> None:
    whole = LOSS[first : last + 1].mean()
    assert interval_mean(STEPS, LOSS, first, last) == pytest.approx(whole, rel=1e-12)
    assert interval_mean(STEPS[KEPT], LOSS[KEPT], first, last) == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_the_end_of_a_training_is_a_share_of_its_steps(share: float) -> None:
    whole = LOSS[-round(share * len(LOSS)) :].mean()
    assert end_mean(STEPS, LOSS, share) == pytest.approx(whole, rel=1e-12)
    assert end_mean(STEPS[KEPT], LOSS[KEPT], share) == pytest.approx(whole, rel=1e-3)
    assert LOSS[KEPT][-round(share * len(KEPT)) :].mean() != pytest.approx(whole, rel=1e-3)


def test_a_gap_between_curves_weights_steps_and_not_rows() -> None:
    later = convergence.plateau(16) / (1 + np.exp((STEPS - 1700) / 40))
    earlier = convergence.plateau(16) / (1 + np.exp((STEPS - 900) / 40))
    height = convergence.plateau(16)
    whole = convergence.gap(STEPS, earlier, later, height)
    until = 2 * max(first_step_below(STEPS, loss, 0.1 * height) for loss in (earlier, later))
    assert whole == pytest.approx(np.abs(earlier - later)[: until + 1].mean() / height, rel=1e-12)
    kept = convergence.gap(STEPS[KEPT], earlier[KEPT], later[KEPT], height)
    assert kept == pytest.approx(whole, rel=0.02)  # the end of the window has an error of some rows
    rows = np.abs(earlier - later)[KEPT][STEPS[KEPT] <= until].mean() / height
    assert abs(rows - whole) > 0.1 * whole


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(1, 98), max_size=20), st.floats(-2, 2), st.floats(-9, 9))
def test_of_a_line_any_rows_give_the_mean(rows: set[int], slope: float, start: float) -> None:
    steps = np.array(sorted({0, 99, *rows}))
    assert interval_mean(steps, start + slope * steps, 0, 99) == pytest.approx(start + slope * 49.5, abs=1e-9)


def test_values_that_are_not_there_are_left_out_and_impossible_ranges_refused() -> None:
    assert interval_mean(np.arange(4), np.array([1.0, np.nan, 3.0, np.inf]), 0, 2) == pytest.approx(2.0)
    assert np.isnan(interval_mean(np.arange(2), np.full(2, np.nan), 0, 1))
    assert np.isnan(end_mean(np.array([]), np.array([]), 0.1))
    with pytest.raises(ValueError, match="no steps from 3 to 2"):
        interval_mean(np.arange(4), np.ones(4), 3, 2)
    with pytest.raises(ValueError, match="a value per rising step"):
        interval_mean(np.array([0, 0]), np.ones(2), 0, 1)
