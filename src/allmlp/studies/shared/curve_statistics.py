"""Statistics of a curve over training steps, from rows that may be dense in one place and sparse in another.

No mean counts rows: between two rows the curve is a line, and each step has the same weight.

>>> interval_mean(np.array([0, 1, 2, 6]), np.array([4.0, 3.0, 2.0, 0.0]), 2, 6)
1.0
"""

import numpy as np
from numpy.typing import NDArray

SMOOTHED = 5  # rows in a median


def check_rising(steps: NDArray, values: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
    """The two as arrays. Raises ValueError for unequal lengths or steps that do not rise."""
    steps, values = np.asarray(steps), np.asarray(values, dtype=np.float64)
    if len(steps) != len(values) or (np.diff(steps) <= 0).any():
        raise ValueError(f"a curve is a value per rising step; got {len(steps)} steps, {len(values)} values")
    return steps, values


def interval_mean(steps: NDArray, values: NDArray, first: int, last: int) -> float:
    """The mean of a curve over the steps `first` to `last`, both included.

    steps, values: (n,). Values that are not finite are left out; before the first row and after the last one the curve
    is constant. nan without a value. Raises ValueError if `last` is before `first`, and as `check_rising`.
    """
    if last < first:
        raise ValueError(f"no steps from {first} to {last}")
    steps, values = check_rising(steps, values)
    there = np.isfinite(values)
    if not there.any():
        return float("nan")
    return float(np.interp(np.arange(first, last + 1), steps[there], values[there]).mean())


def end_mean(steps: NDArray, values: NDArray, share: float) -> float:
    """The mean over the last `share` of the steps, at least one, where a training begins with step 0; else as
    `interval_mean`. nan for an empty curve.
    """
    if not len(steps):
        return float("nan")
    done = int(np.asarray(steps)[-1]) + 1
    return interval_mean(steps, values, done - max(1, round(share * done)), done - 1)


def first_step_below(steps: NDArray, values: NDArray, level: float) -> int | None:
    """The first step where the median of the last SMOOTHED rows is below `level`; None if none is.

    Raises ValueError as `check_rising`.
    """
    steps, values = check_rising(steps, values)
    if len(values) < SMOOTHED:
        return None
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, SMOOTHED), axis=1)
    at = np.flatnonzero(medians < level)
    return int(steps[SMOOTHED - 1 + at[0]]) if len(at) else None
