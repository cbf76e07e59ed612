"""Where the lead changes hands, in closed form: the differences of two models' losses, straight between their points.

Between two neighbouring points every seed's difference is a line over the logarithm of the operations. So the mean m is
a line and the variance s^2 a parabola, and the t interval has an end at 0 where n m^2 = t^2 s^2: a quadratic equation.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from scipy.stats import t as student

from tests.numerics.second_opinion.numbers import Course, above

Curve = list[tuple[float, float]]  # operations and losses, ascending
BILLION = 1e9
TINY = 1e-12  # in the logarithm of the operations


def lead_changes(first: Mapping[int, Curve], second: Mapping[int, Curve], margin: float, most: float) -> Course:
    """The first model ahead by `margin` at the fewest operations that all curves have, the second at the most, with one
    change between: its place in billions of operations, with the ends of its interval."""
    seeds = sorted(first.keys() & second.keys())
    curves = [of[seed] for of in (first, second) for seed in seeds]
    begin, end = max(of[0][0] for of in curves), min(of[-1][0] for of in curves)
    points = {begin, end, *(at for of in curves for at, _ in of if begin < at < end)}
    x = np.log(sorted(points))
    read = [[np.interp(x, *_columns(of[seed])) for seed in seeds] for of in (first, second)]
    d = np.array(read[1]) - np.array(read[0])  # (seeds, points), above 0 where the first model leads
    numbers = (above(lead, margin, around_zero=True) for lead in (d[:, 0], -d[:, -1]))
    return Course(tuple(numbers), place=_place(x, d) if np.isfinite(d).all() and len(seeds) > 1 else None, most=most)


def _columns(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    operations, losses = np.array(curve).T
    return np.log(operations), losses


def _place(x: np.ndarray, d: np.ndarray) -> tuple[float, float, float] | None:
    """The change of the lead, if there is one alone: where the mean is 0, and between which ends neither is shown to
    lead."""
    ends = [
        x[0],
        *(root for segment in zip(pairwise(x), pairwise(d.T), strict=True) for root in _roots(*segment)),
        x[-1],
    ]
    leads = [
        (start, stop, _leader(x, d, (start + stop) / 2))
        for start, stop in pairwise(sorted(ends))
        if stop - start > TINY
    ]
    shown = [lead for lead in leads if lead[2]]
    turns = [(one, other) for one, other in pairwise(shown) if one[2] != other[2]]
    if len(turns) != 1:
        return None
    ((_, low, leader), (high, _, _)) = turns[0]
    inside = np.array([low, *x[(x > low) & (x < high)], high])
    ahead = leader * np.interp(inside, x, d.mean(axis=0))
    at = low + sum(map(_above_zero, pairwise(inside), pairwise(ahead)))
    return tuple(float(np.exp(place)) / BILLION for place in (at, low, high))  # type: ignore[return-value]


def _roots(x: tuple[float, float], d: tuple[np.ndarray, np.ndarray]) -> list[float]:
    """Where an end of the t interval is 0 between two points with the differences d (seeds,) of each."""
    n, slope = len(d[0]), d[1] - d[0]
    t = student.ppf(0.975, n - 1)
    covariance = np.cov(d[0], slope)
    mean = np.polymul([slope.mean(), d[0].mean()], [slope.mean(), d[0].mean()])
    variance = np.array([covariance[1, 1], 2 * covariance[0, 1], covariance[0, 0]])
    roots = np.roots(np.polysub(n * mean, t**2 * variance))
    return [x[0] + float(r.real) * (x[1] - x[0]) for r in roots if abs(r.imag) < TINY and 0 < r.real < 1]


def _leader(x: np.ndarray, d: np.ndarray, at: float) -> int:
    """1 or -1 for the model that is shown to lead at a place, 0 for none."""
    low, high = above(np.array([np.interp(at, x, of_seed) for of_seed in d]), 0.0).ends(0.95)
    return int(low > 0) - int(high < 0)


def _above_zero(x: tuple[float, float], y: tuple[float, float]) -> float:
    """The length on which the line through two points is above 0."""
    if min(y) >= 0 or max(y) <= 0:
        return x[1] - x[0] if min(y) >= 0 and max(y) > 0 else 0.0
    return (x[1] - x[0]) * max(y) / (max(y) - min(y))
