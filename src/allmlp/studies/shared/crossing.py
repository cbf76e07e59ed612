"""Where the lead changes hands: the losses of two models over counted operations, paired by seed.

    >>> operations = np.geomspace(1e10, 1e12, 5)
    >>> first = {seed: Curve(operations, np.full(5, 3.0)) for seed in range(5)}
    >>> second = {seed: Curve(operations, 4.0 + 0.1 * seed - np.arange(5.0) / 2) for seed in range(5)}
    >>> [round(crossing.at / 1e9) for crossing in compare(first, second).crossings]
    [158]

Between two points a curve is read on a straight line over the logarithm of the operations; beyond its ends it is not
read. The difference is the second model's loss minus the first's: above 0 the first model leads. Its mean has a 95 % t
interval over seeds at every number of operations. A model is shown to lead where the interval excludes 0. A crossing
lies between two neighbouring regions in which different models are shown to lead, and its interval is all that lies
between them: the operations at which a lead of neither is shown.

That is the inversion of a test (Fieller 1954). It holds the place where the expected difference is 0 in 95 % of cases
if differences are normal, however flat the curves are there. An interval of the places at which single seeds cross
would need every seed to cross within the measured range; leaving the others out would shift it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allmlp.judging.evidence_summary import student_interval

Values = NDArray[np.float64]
BETWEEN = 400  # operations, evenly spaced in their logarithm, at which intervals are taken besides those of the curves


class Curve(NamedTuple):
    """Held-out losses (n,), in nats, after counted operations (n,), ascending and above 0. Of a diverged run, NaN."""

    operations: Values
    losses: Values

    def loss_at(self, operations: ArrayLike) -> Values:
        """The loss after so many operations, NaN beyond the ends of the curve."""
        x = np.log(np.asarray(operations, dtype=np.float64))
        return np.interp(x, np.log(self.operations), self.losses, left=math.nan, right=math.nan)


Curves = Mapping[int, Curve]  # seed -> curve


class Crossing(NamedTuple):
    """A change of the lead, in operations: where the mean difference is 0, and the ends of the 95 % interval.

    `leader`: 1 if the first model leads after it, -1 if the second does.
    """

    at: float
    low: float
    high: float
    leader: int


@dataclass(frozen=True)
class Course:
    """The difference of two models' losses (nats) over the operations (m,) that every curve has reached.

    values: (seeds, m), the second model's minus the first's; mean, low, high: (m,), with the 95 % t interval.
    """

    seeds: tuple[int, ...]
    operations: Values
    values: Values
    mean: Values
    low: Values
    high: Values

    @cached_property
    def leaders(self) -> NDArray[np.int64]:
        """(m,) 1 where the first model is shown to lead, -1 where the second is, else 0."""
        return (self.low > 0).astype(np.int64) - (self.high < 0)

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The changes of the lead, in order. None where only one model is shown to lead anywhere."""
        sure = np.flatnonzero(self.leaders)
        turns = np.flatnonzero(np.diff(self.leaders[sure]))
        return tuple(self._crossing_between(int(sure[turn]), int(sure[turn + 1])) for turn in turns)

    @cached_property
    def seed_crossings(self) -> dict[int, float]:
        """seed -> the operations at which its own lead changes as that of the means does; 0 and infinity if it changes
        before and beyond the measured range, NaN for a diverged seed.

        A curve that crosses several times counts with the operations, in logarithm, for which the first leader leads.
        """
        x = np.log(self.operations)
        before = -self.crossings[0].leader if self.crossings else math.copysign(1, self.mean[0])
        ends = {x[0]: 0.0, x[-1]: math.inf}
        places = [_change(x, before * values) for values in self.values]
        return {seed: ends.get(place, math.exp(place)) for seed, place in zip(self.seeds, places, strict=True)}

    def _crossing_between(self, last: int, first: int) -> Crossing:
        """The crossing between the last point with one leader and the first with the other."""
        x, before = np.log(self.operations), int(self.leaders[last])
        leaving, reaching = (self.low, self.high) if before > 0 else (self.high, self.low)
        low = _zero(x[last : last + 2], leaving[last : last + 2])
        high = _zero(x[first - 1 : first + 1], reaching[first - 1 : first + 1])
        gap = slice(last, first + 1)
        at, start, end = np.exp([_change(x[gap], before * self.mean[gap]), low, high]).tolist()
        return Crossing(at, start, end, -before)


def compare(first: Curves, second: Curves) -> Course:
    """The course of the difference over the operations that all curves of the common seeds share.

    Raises ValueError without a common seed, or if the curves share no two numbers of operations.
    """
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        raise ValueError("the two models have no seed in common")
    curves = [of[seed] for of in (first, second) for seed in seeds]
    start, end = max(one.operations[0] for one in curves), min(one.operations[-1] for one in curves)
    if not start < end:
        raise ValueError(f"the curves share no range: one begins at {start:g} operations, one ends at {end:g}")
    points = np.concatenate([np.geomspace(start, end, BETWEEN), *(one.operations for one in curves)])
    operations = np.unique(np.clip(points, start, end))
    values = np.array([second[seed].loss_at(operations) - first[seed].loss_at(operations) for seed in seeds])
    return Course(seeds, operations, values, *student_interval(values.T, 0.95))


def _zero(x: Values, y: Values) -> float:
    """Where the line through two points is 0."""
    return float(x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0]))


def _change(x: Values, y: Values) -> float:
    """x at which y turns negative: the first x and the length on which a piecewise linear y is above 0."""
    if not np.isfinite(y).all():
        return math.nan
    above, below = np.maximum(y, 0), np.maximum(-y, 0)
    sides = above[:-1] + above[1:], below[:-1] + below[1:]  # of a line that crosses: the lengths above and below
    share = sides[0] / np.where(sides[0] + sides[1] > 0, sides[0] + sides[1], 1)
    return float(x[-1] if (share == 1).all() else x[0] + share @ np.diff(x))
