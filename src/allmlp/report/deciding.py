"""What decides a verdict, as small frozen values: the rule, its limits, and the measured mean and spread.

The same rule judges the measured seeds, one row of values, and the draws of `allmlp power`, thousands of rows at once.

>>> int(Rule("better", 0.5, 0.5).decide([0.9, 1.1, 1.0, 0.8, 1.2]))
1
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit  # as in scipy.stats, which is slow to import

Kind = Literal["better", "below", "equal", "inside", "prediction", "all", "few"]
KINDS: tuple[str, ...] = get_args(Kind)
NUMBERS = ("low", "high", "level", "limit")  # fields of a rule
FEWEST_SEEDS = 5  # below this nothing is decided


class Ends(NamedTuple):
    """Mean and the two ends of an interval, arrays of one shape; infinite ends where there is no interval."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def student(values: ArrayLike, level: float, further: int = 0) -> Ends:
    """mean ± t s sqrt(further + 1/n) along the last axis: further = 0 for the mean, 1 for one more observation.

    With a value that is not finite (a diverged seed) the mean is NaN. Then, or with fewer than two values, there is no
    interval.
    """
    x = np.asarray(values, dtype=np.float64)
    n = x.shape[-1]
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(x).all(axis=-1) & (n > 0))
    safe = np.where(finite[..., None], x, 0.0) if n else np.zeros((*x.shape[:-1], 1))
    mean = np.where(finite, safe.mean(axis=-1), np.nan)
    if n < 2:
        return Ends(mean, np.full(mean.shape, -np.inf), np.full(mean.shape, np.inf))
    half = stdtrit(n - 1, (1 + level) / 2) * safe.std(axis=-1, ddof=1) * math.sqrt(further + 1 / n)
    return Ends(mean, np.where(finite, mean - half, -np.inf), np.where(finite, mean + half, np.inf))


@cache
def share_ends(n: int, level: float = 0.95) -> tuple[tuple[float, float], ...]:
    """The exact interval (Clopper & Pearson 1934) of k of n runs, for each k from 0 to n."""
    tail = (1 - level) / 2
    return tuple(
        (
            float(betaincinv(k, n - k + 1, tail)) if k else 0.0,
            float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0,
        )
        for k in range(n + 1)
    )


@dataclass(frozen=True)
class Rule:
    """The rule for one number: it looks where an interval of the values lies (95 %, unless `level` says otherwise).

    better: above `high` reproduced, below `low` contradicted. below: the mirror image. equal: reproduced if the
    narrower interval of two one-sided tests lies between `low` and `high`, contradicted if the full one lies outside.
    inside: the same with the full interval for both. prediction: does the interval of one more seed overlap `low` to
    `high`, with a half width of at most `limit`? all, few: for values 0 and 1, all are 1, or their share is below
    `low`.
    """

    kind: Kind
    low: float
    high: float
    level: float = 0.95
    limit: float = math.inf

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"rule {self.kind!r}: choose one of {', '.join(KINDS)}")

    def decide(self, values: ArrayLike) -> NDArray[np.int8]:
        """1 reproduced, -1 contradicted, 0 undecided, as with fewer than 5 seeds; values: (..., seeds)."""
        x = np.asarray(values, dtype=np.float64)
        if x.shape[-1] < FEWEST_SEEDS:
            return np.zeros(x.shape[:-1], dtype=np.int8)
        holds, fails = self._sides(x)
        return np.asarray(holds, dtype=np.int8) - np.asarray(~holds & fails, dtype=np.int8)

    def _sides(self, x: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        if self.kind in ("all", "few"):
            return self._of_shares(x)
        _, low, high = student(x, self.level, further=int(self.kind == "prediction"))
        outside = (high < self.low) | (low > self.high)
        match self.kind:
            case "better":
                return low > self.high, high < self.low
            case "below":
                return high < self.low, low > self.high
            case "equal":
                _, low, high = student(x, 2 * self.level - 1)
                return (low > self.low) & (high < self.high), outside
            case "inside":
                return (low >= self.low) & (high <= self.high), outside
        return ~outside & ((high - low) / 2 <= self.limit), outside

    def _of_shares(self, x: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        n, k = x.shape[-1], np.nan_to_num(x).sum(axis=-1).astype(int)
        low, high = np.array(share_ends(n, self.level)).T
        return (k == n, high[k] < self.low) if self.kind == "all" else (high[k] < self.low, low[k] > self.high)


@dataclass(frozen=True)
class Basis:
    """One number behind a verdict: its rule, and the mean, standard deviation and number of its seeds."""

    rule: Rule
    mean: float
    spread: float
    n: int


def together(decided: ArrayLike, tolerated: int = 0, refuting: int = 1) -> NDArray[np.int8]:
    """One verdict from those of several numbers. decided: (numbers, ...) of 1, 0, -1.

    At least `refuting` contradicted: contradicted. At most `tolerated` contradicted, the others reproduced: reproduced.
    """
    all_of = np.asarray(decided)
    against, unclear = (all_of == -1).sum(axis=0), (all_of == 0).sum(axis=0)
    holds = (against < refuting) & (against <= tolerated) & (unclear == 0)
    return holds.astype(np.int8) - (against >= refuting).astype(np.int8)


@dataclass(frozen=True)
class Rests:
    """The numbers behind the verdict of a claim or part: one or several `together`, and why it was withheld, if it
    was."""

    of: tuple[Basis, ...]
    tolerated: int = 0
    refuting: int = 1
    guards: tuple[str, ...] = field(default=())

    def decide(self, values: Sequence[ArrayLike]) -> NDArray[np.int8]:
        """As `Rule.decide`, with one array of values for each number."""
        decided = [basis.rule.decide(x) for basis, x in zip(self.of, values, strict=True)]
        return together(decided, self.tolerated, self.refuting)

    def guarded(self, reason: str) -> "Rests":
        """The same, with the reason for which a guard withheld the verdict."""
        return self if reason in self.guards else replace(self, guards=(*self.guards, reason))

    def told(self) -> dict[str, Any]:
        """As JSON, numbers to six digits."""
        of = [
            {
                "kind": basis.rule.kind,
                **{name: _short(getattr(basis.rule, name)) for name in NUMBERS},
                "mean": _short(basis.mean),
                "spread": _short(basis.spread),
                "n": basis.n,
            }
            for basis in self.of
        ]
        return {"of": of, "tolerated": self.tolerated, "refuting": self.refuting, "guards": list(self.guards)}

    @classmethod
    def read(cls, told: dict[str, Any]) -> "Rests":
        """The value that `told` tells."""
        of = []
        for one in told["of"]:
            limit = math.inf if one["limit"] is None else one["limit"]
            mean, spread = (math.nan if one[name] is None else one[name] for name in ("mean", "spread"))
            of.append(Basis(Rule(one["kind"], one["low"], one["high"], one["level"], limit), mean, spread, one["n"]))
        return cls(tuple(of), told["tolerated"], told["refuting"], tuple(told["guards"]))


def on(rule: Rule, values: ArrayLike) -> Rests:
    """The basis of a verdict by one rule on these values, one per seed."""
    x = np.asarray(values, dtype=np.float64)
    known = len(x) > 1 and bool(np.isfinite(x).all())
    mean, spread = (float(x.mean()), float(x.std(ddof=1))) if known else (math.nan, math.nan)
    return Rests((Basis(rule, mean, spread, len(x)),))


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
