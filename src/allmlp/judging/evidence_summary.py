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
from scipy.special import betaincinv, ndtri, stdtrit  # as in scipy.stats, which is slow to import

Kind = Literal["better", "below", "equal", "inside", "prediction", "near", "all", "few"]
KINDS: tuple[str, ...] = get_args(Kind)
OF_ONE_MORE = ("prediction", "near")  # kinds that ask where one more seed would fall
NUMBERS = ("low", "high", "level", "limit")  # fields of a rule
FEWEST_SEEDS = 5  # below this nothing is decided
REPRODUCED, UNDECIDED, CONTRADICTED, BELOW_MARGIN = 1, 0, -1, 2  # what `decide` gives
ROUNDING = 8 * np.finfo(np.float64).eps  # seeds that differ by less, relative to their size or to 1, agree


class Ends(NamedTuple):
    """Mean and the two ends of an interval, arrays of one shape; infinite ends where there is no interval."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def student_interval(values: ArrayLike, level: float, further: int = 0) -> Ends:
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


def is_constant(values: ArrayLike) -> NDArray[np.bool_]:
    """Along the last axis: do all values agree, up to rounding? They then have no spread that a t test could use."""
    x = np.asarray(values, dtype=np.float64)
    if not x.shape[-1]:
        return np.ones(x.shape[:-1], dtype=np.bool_)
    least, most = x.min(axis=-1), x.max(axis=-1)
    with np.errstate(invalid="ignore"):  # an infinite value less itself
        return np.asarray(most - least <= ROUNDING * np.maximum(1.0, np.maximum(np.abs(least), np.abs(most))))


def has_little_spread(values: ArrayLike) -> NDArray[np.bool_]:
    """Along the last axis: do more than half of the values agree, up to rounding? The spread of the few others then
    says little of a t test's, as at a ceiling that one seed misses by a token."""
    x = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    n = x.shape[-1]
    half = n // 2  # places apart: half + 1 values agree
    with np.errstate(invalid="ignore"):
        apart = x[..., half:] - x[..., : n - half]
        near = apart <= ROUNDING * np.maximum(1.0, np.abs(x[..., half:]))
    return np.asarray(is_constant(x) | (near.any(axis=-1) if n > 1 else np.zeros(x.shape[:-1], dtype=np.bool_)))


def fewest_agreeing_seeds(level: float, further: int = 0) -> int:
    """How many seeds must all agree to place the median (0), or one more seed (1), at their value with this certainty.

    For any distribution, the median lies between the least and the largest of n values with probability 1 - 2^(1-n), by
    the sign test, and one more value with probability (n-1)/(n+1).
    """
    needed = (1 + level) / (1 - level) if further else 1 - math.log2(1 - level)
    return math.ceil(round(needed, 9))


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

    better: `low` is no effect, `high` the margin. Above `high`: reproduced. Below `low`, or as near to it as the margin
    on both sides: contradicted. Above `low` and below `high`: below margin, that is, in the claimed direction. A limit
    without a natural zero is both ends. below: the mirror image, with the margin at `low`. equal: reproduced if the
    narrower interval of two one-sided tests lies between `low` and `high`, contradicted if the full one lies outside.
    inside: the same with the full interval for both. prediction: does the interval of one more seed overlap `low` to
    `high`, with a half width of at most `limit`? near: does it overlap, and is the mean within `limit` of them, by two
    one-sided tests? However wide seeds spread, enough of them decide this. all, few: for values 0 and 1, all are 1, or
    their share is below `low`.
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
        """REPRODUCED, CONTRADICTED, BELOW_MARGIN or UNDECIDED, as with fewer than 5 seeds; values: (..., seeds).

        Where more than half of the seeds agree, `fewest_agreeing_seeds` or more decide, because a t test needs a
        spread. They agree at a floor or a ceiling of what is measured, or where it does not depend on the seed.
        """
        x = np.asarray(values, dtype=np.float64)
        if x.shape[-1] < FEWEST_SEEDS:
            return np.full(x.shape[:-1], UNDECIDED, dtype=np.int8)
        holds, fails, small = self._sides(x)
        if self.kind not in ("all", "few"):
            same, further = has_little_spread(x), int(self.kind in OF_ONE_MORE)
            inner = 2 * self.level - 1 if self.kind == "equal" else self.level
            unsure = same & (x.shape[-1] < fewest_agreeing_seeds(self.level, further))
            holds = holds & ~(same & (x.shape[-1] < fewest_agreeing_seeds(inner, further)))
            fails, small = fails & ~unsure, small & ~unsure
        said = [np.int8(REPRODUCED), np.int8(CONTRADICTED), np.int8(BELOW_MARGIN)]
        return np.asarray(np.select([holds, fails, small], said, np.int8(UNDECIDED)), dtype=np.int8)

    def _sides(self, x: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Does it hold, does it fail, is it in the claimed direction and below the margin?"""
        if self.kind in ("all", "few"):
            return *self._share_sides(x), np.zeros(x.shape[:-1], dtype=np.bool_)
        _, low, high = student_interval(x, self.level, further=int(self.kind in OF_ONE_MORE))
        outside = (high < self.low) | (low > self.high)
        none = np.zeros_like(outside)
        match self.kind:
            case "better" | "below":
                if self.kind == "below":
                    low, high = -high, -low
                zero, margin = (self.low, self.high) if self.kind == "better" else (-self.high, -self.low)
                small = (low > zero) & (high < margin)
                alike = (low > 2 * zero - margin) & (high < margin) & ~small
                return low > margin, (high < zero) | alike, small
            case "equal":
                _, low, high = student_interval(x, 2 * self.level - 1)
                return (low > self.low) & (high < self.high), outside, none
            case "inside":
                return (low >= self.low) & (high <= self.high), outside, none
            case "near":
                _, low, high = student_interval(x, 2 * self.level - 1)
                around = (low > self.low - self.limit) & (high < self.high + self.limit)
                return ~outside & around, outside, none
        return ~outside & ((high - low) / 2 <= self.limit), outside, none

    def _share_sides(self, x: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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

    @property
    def is_futile(self) -> bool:
        """Is the interval of one more seed too wide for the rule, however many seeds of this spread there are?"""
        return self.rule.kind == "prediction" and self.narrowest_half_width > self.rule.limit

    @property
    def narrowest_half_width(self) -> float:
        """That of the interval of one more seed, from arbitrarily many seeds of this spread."""
        return float(ndtri((1 + self.rule.level) / 2)) * self.spread


def join_verdicts(decided: ArrayLike, tolerated: int = 0, refuting: int = 1) -> NDArray[np.int8]:
    """One verdict from those of several numbers. decided: (numbers, ...) of what `Rule.decide` gives.

    At least `refuting` contradicted: contradicted. At most `tolerated` contradicted, the others reproduced: reproduced.
    At most `tolerated` contradicted, the others reproduced or below margin: below margin.
    """
    all_of = np.asarray(decided)
    against, unclear, small = ((all_of == verdict).sum(axis=0) for verdict in (CONTRADICTED, UNDECIDED, BELOW_MARGIN))
    directed = (against <= tolerated) & (unclear == 0)
    cases = [against >= refuting, directed & (small == 0), directed]
    said = [np.int8(CONTRADICTED), np.int8(REPRODUCED), np.int8(BELOW_MARGIN)]
    return np.asarray(np.select(cases, said, np.int8(UNDECIDED)), dtype=np.int8)


@dataclass(frozen=True)
class Grounds:
    """The numbers behind the verdict of a claim or part: one or several together, and why it was withheld, if it
    was."""

    of: tuple[Basis, ...]
    tolerated: int = 0
    refuting: int = 1
    guards: tuple[str, ...] = field(default=())

    def decide(self, values: Sequence[ArrayLike]) -> NDArray[np.int8]:
        """As `Rule.decide`, with one array of values for each number."""
        decided = [basis.rule.decide(x) for basis, x in zip(self.of, values, strict=True)]
        return join_verdicts(decided, self.tolerated, self.refuting)

    def add_reason(self, reason: str) -> "Grounds":
        """The same, with the reason for which a guard withheld the verdict."""
        return self if reason in self.guards else replace(self, guards=(*self.guards, reason))

    def to_dict(self) -> dict[str, Any]:
        """As JSON, numbers to six digits."""
        of = [
            {
                "kind": basis.rule.kind,
                **{name: _round_digits(getattr(basis.rule, name)) for name in NUMBERS},
                "mean": _round_digits(basis.mean),
                "spread": _round_digits(basis.spread),
                "n": basis.n,
            }
            for basis in self.of
        ]
        return {"of": of, "tolerated": self.tolerated, "refuting": self.refuting, "guards": list(self.guards)}

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Grounds":
        """Read what `to_dict` wrote."""
        of = []
        for one in values["of"]:
            limit = math.inf if one["limit"] is None else one["limit"]
            mean, spread = (math.nan if one[name] is None else one[name] for name in ("mean", "spread"))
            of.append(Basis(Rule(one["kind"], one["low"], one["high"], one["level"], limit), mean, spread, one["n"]))
        return cls(tuple(of), values["tolerated"], values["refuting"], tuple(values["guards"]))


def apply_rule(rule: Rule, values: ArrayLike) -> Grounds:
    """The basis of a verdict by one rule on these values, one per seed."""
    x = np.asarray(values, dtype=np.float64)
    known = len(x) > 1 and bool(np.isfinite(x).all())
    mean, spread = (float(x.mean()), float(x.std(ddof=1))) if known else (math.nan, math.nan)
    return Grounds((Basis(rule, mean, spread, len(x)),))


def _round_digits(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
