"""Has a loss levelled off? Its slope over the last quarter of the budget, with a standard error.

    >>> log = Curve(steps=np.arange(1000), training=np.full(1000, 3.0), held_out=np.full(1000, np.nan))
    >>> measure_level(log, budget=1000).level
    True

A loss that has levelled off may still fall later: a plateau before a fall is level too. "Level" means that twice as
long a training would change the loss by less than LIMIT if the slope stayed the same.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Nats per doubling of the steps. 0.02 nats (2 % in perplexity) is the smallest difference that the papers interpret,
# and a common margin of the claims: a smaller change of the loss decides no comparison.
LIMIT = 0.02
QUARTER = 0.75  # the last quarter of the budget begins here
BLOCKS = 16  # losses of neighbouring batches, whose noise is not independent, are averaged into this many values
# Student's t, 97.5 %, for 1 to BLOCKS - 2 degrees of freedom; a table, since measures must not need SciPy
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)
FEWEST = 4  # values that a line and the error of its slope need
HUBER = 1.345  # residuals beyond this many standard deviations count less (Huber 1981): 95 % efficient for normal noise

Values = NDArray[np.float64]
Source = Literal["held-out", "training", "none"]
NONE = float("nan")


class Curve(NamedTuple):
    """Losses over steps, in nats, each (n,); NaN where a loss was not taken."""

    steps: NDArray
    training: Values
    held_out: Values


@dataclass(frozen=True)
class Level:
    """How a loss ended. `error` is the standard error of `per_doubling`, NaN for too few values.

    `level` is None if the 95 % interval of the slope contains LIMIT or -LIMIT, or if there is no interval.
    """

    source: Source
    values: int
    loss: float = NONE
    per_doubling: float = NONE
    error: float = NONE
    level: bool | None = None


class Line(NamedTuple):
    """A fitted line: its slope, and the slope's standard error."""

    slope: float
    error: float


def measure_level(curve: Curve, budget: int) -> Level:
    """The slope of the held-out loss if the last quarter has FEWEST values of it, else of the training loss.

    A training that ended before its budget has not levelled off: it diverged.
    """
    if not len(curve.steps) or curve.steps.max() + 1 < budget:
        return Level("none", 0, level=False if len(curve.steps) else None)
    source, steps, losses = _last_quarter(curve, budget)
    if len(losses) < 2:
        return Level("none", len(losses))
    doublings = fit_line(np.log2(steps), losses)
    level = _is_level(doublings, min(BLOCKS, len(losses)))
    return Level(source, len(losses), float(losses.mean()), doublings.slope, doublings.error, level)


def slope_per_step(curve: Curve, budget: int) -> float:
    """The slope over steps of the losses that `measure_level` takes; NaN without a slope."""
    if measure_level(curve, budget).source == "none":
        return NONE
    _, steps, losses = _last_quarter(curve, budget)
    return fit_line(steps, losses).slope


def _last_quarter(curve: Curve, budget: int) -> tuple[Source, Values, Values]:
    """The losses of the last quarter that decide: which ("training" or "held-out"), their steps, their values."""
    last = curve.steps >= max(1, QUARTER * budget)
    taken: dict[Source, Values] = {"held-out": curve.held_out, "training": curve.training}
    there = {source: last & np.isfinite(losses) for source, losses in taken.items()}
    source = max(there, key=lambda source: min(FEWEST, int(there[source].sum())))  # on a tie the first: held-out
    rows = there[source]
    return source, curve.steps[rows].astype(float), taken[source][rows]


def is_within_limit(slope: float, half_width: float) -> bool | None:
    """Is the interval slope ± half_width within ±LIMIT (True) or outside (False)? None: partly within."""
    if abs(slope) + half_width < LIMIT:
        return True
    return False if abs(slope) - half_width > LIMIT else None


def _is_level(line: Line, values: int) -> bool | None:
    return is_within_limit(line.slope, T_975[values - 3] * line.error) if np.isfinite(line.error) else None


def fit_line(x: Values, y: Values) -> Line:
    """Least squares through means of neighbours; from 8 means on, outliers count less. x ascending."""
    groups = np.array_split(np.arange(len(x)), min(BLOCKS, len(x)))
    means_x, means_y = (np.array([values[group].mean() for group in groups]) for values in (x, y))
    weights, n = np.ones(len(groups)), len(groups)
    for _ in range(30 if n >= 8 else 1):
        centre = _average(means_x, weights)
        spread = weights @ (means_x - centre) ** 2
        slope = float(weights @ ((means_x - centre) * means_y) / spread)
        residuals = means_y - _average(means_y, weights) - slope * (means_x - centre)
        if n < FEWEST:
            return Line(slope, NONE)
        if n < 8:
            return Line(slope, float(np.sqrt(residuals @ residuals / (n - 2) / spread)))
        scale = _median(np.abs(residuals)) / 0.6745 * (n / (n - 2)) ** 0.5
        if scale == 0:
            return Line(slope, 0.0)
        weights = np.minimum(1, HUBER * scale / np.maximum(np.abs(residuals), scale * 1e-9))
    bounded = np.clip(residuals / scale, -HUBER, HUBER)
    inside = float((np.abs(residuals / scale) <= HUBER).mean())
    variance = scale**2 * (bounded @ bounded) / (n - 2) / inside**2
    return Line(slope, float(np.sqrt(variance / ((means_x - means_x.mean()) ** 2).sum())))


def _average(values: Values, weights: Values) -> float:
    """Called thousands of times: `np.average` and `np.median` spend most of their time on checks of their arguments."""
    return (values * weights).sum() / weights.sum()


def _median(values: Values) -> float:
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def curve_from_log(log: pd.DataFrame, done: int, at_end: float | None) -> Curve:
    """A training's log as a curve; `at_end`: the held-out loss after the last of its `done` steps."""
    held_out = log["validation_loss"] if "validation_loss" in log else pd.Series(NONE, index=log.index)
    return Curve(
        np.append(log["step"].to_numpy(), done),
        np.append(log["loss"].to_numpy(float), NONE),
        np.append(held_out.to_numpy(float), NONE if at_end is None else at_end),
    )
