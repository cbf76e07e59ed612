"""Times until something happens, in runs where it may never happen within the budget.

A run that never got there is censored: its time is above the budget, so it counts and is not dropped.

    >>> order = censored_comparison([300, 400], [True, True], [350, 0], [True, False], budget=1000)
    >>> order.earlier, order.later, order.p
    (2, 0, 0.25)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from allmlp.report.statistics import (
    FEWEST_SEEDS,
    Finding,
    Interval,
    Values,
    Verdict,
    share_interval,
    t_interval,
)

Flags = Sequence[bool] | np.ndarray  # (n,), one per seed


@dataclass(frozen=True)
class Ordering:
    """How many seeds put a before b, after b, at the same step, and how many saw neither get there."""

    earlier: int
    later: int
    tied: int
    neither: int
    p: float  # exact one-sided sign test of "a is earlier no more often than later"

    @property
    def n(self) -> int:
        """Seed pairs in all."""
        return self.earlier + self.later + self.tied + self.neither


def censored_comparison(a: Values, a_reached: Flags, b: Values, b_reached: Flags, budget: float) -> Ordering:
    """Seed by seed, does a get there before b? A censored time counts as later than the budget.

    a, b: (n,) times in the unit of `budget`, paired by seed and ignored where not reached. A pair with one
    censored run is ordered; a tie, or two censored runs, are counted but take no part in the exact sign test,
    p = P(K >= earlier), K ~ Binomial(earlier + later, 1/2) (Dixon & Mood 1946). Raises ValueError for unequal
    lengths, or a time reached above the budget.
    """
    times_a, times_b = _times(a, a_reached, budget), _times(b, b_reached, budget)
    if times_a.shape != times_b.shape:
        raise ValueError(f"pairs by seed need equal lengths, not {len(times_a)} and {len(times_b)}")
    earlier, later = int((times_a < times_b).sum()), int((times_a > times_b).sum())
    neither = int((np.isinf(times_a) & np.isinf(times_b)).sum())
    tied = len(times_a) - earlier - later - neither
    return Ordering(earlier, later, tied, neither, float(bdtr(later, earlier + later, 0.5)))


def sooner(ordering: Ordering, level: float = 0.95) -> Finding:
    """Is a earlier than b more often than not?

    value: share of the ordered pairs in which a is earlier, with its exact interval. Low end above 1/2:
    reproduced (6 of 6 is, 5 of 5 is not enough); high end below 1/2: contradicted; else, or with fewer than 5
    seeds: undecided.
    """
    share = share_interval(ordering.earlier, ordering.earlier + ordering.later, level)
    verdict: Verdict = "undecided"
    if ordering.n >= FEWEST_SEEDS and share.low > 0.5:
        verdict = "reproduced"
    elif ordering.n >= FEWEST_SEEDS and share.high < 0.5:
        verdict = "contradicted"
    text = (
        f"earlier in {ordering.earlier}, later in {ordering.later}, at the same step in {ordering.tied}, "
        f"neither in {ordering.neither} of {ordering.n} seeds"
    )
    unit = "share of ordered pairs"
    return Finding(verdict, share.mean, share.low, share.high, ordering.n, unit, text, ordering.p)


def restricted_mean(values: Values, reached: Flags, budget: float) -> Interval:
    """Mean time within the budget, E[min(T, budget)], with its t interval (Royston & Parmar 2013).

    values: (n,) times, ignored where not reached. One budget for all runs, so no Kaplan-Meier weights.
    Wherever a run is censored, this is below the mean time itself. Errors as in `censored_comparison`.
    """
    return t_interval(np.minimum(_times(values, reached, budget), budget))


def _times(values: Values, reached: Flags, budget: float) -> np.ndarray:
    """(n,) float64 times, infinite where the run never got there."""
    x, seen = np.asarray(values, dtype=np.float64), np.asarray(reached, dtype=bool)
    if x.ndim != 1 or x.shape != seen.shape:
        raise ValueError(f"one time and one flag per seed, not shapes {x.shape} and {seen.shape}")
    if not (x[seen] <= budget).all():
        raise ValueError(f"a time is reached above the budget of {budget:g}, or is no number: {x[seen].tolist()}")
    return np.where(seen, x, np.inf)
