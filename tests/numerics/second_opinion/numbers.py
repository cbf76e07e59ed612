"""The tests that claims.yaml names: t intervals over seeds, TOST, prediction and exact intervals, Holm's correction."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import beta, binom
from scipy.stats import t as student

FEWEST = 5  # seeds
TIED, TIED_ONE_MORE = 6, 39  # seeds where more than half agree: for the median, by the sign test; for one more of them
Decided = Literal["reproduced", "below margin", "contradicted", "undecided"]


@dataclass(frozen=True)
class Number:
    """One number per seed, and where its mean must lie.

    above: over `high`, refuted below `low`; below: under `low`, refuted over `high`; equal, inside: between both;
    another: one further seed may lie between `low` and `high`, by an interval of half width `most` or less;
    near: it may, and the mean lies within `most` of them, by the 90 % t interval.
    `supports`, `refutes`: may the number do so, by the claim's other conditions? `around_zero`: "below 0 or equal
    within the margin" refutes; an effect between 0 and the margin has a verdict of its own (`below`: turned around).
    """

    kind: Literal["above", "below", "equal", "inside", "another", "near"]
    values: np.ndarray
    low: float
    high: float
    most: float = math.inf
    level: float = 0.95
    supports: bool = True
    refutes: bool = True
    around_zero: bool = False

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def spread(self) -> float:
        return float(np.std(self.values, ddof=1))

    def ends(self, level: float) -> tuple[float, float]:
        """Of the t interval; of the prediction interval for `another` and `near`."""
        return self._interval(level, 1 if self.kind in ("another", "near") else 0)

    def _interval(self, level: float, further: int) -> tuple[float, float]:
        half = student.ppf((1 + level) / 2, self.n - 1) * self.spread * math.sqrt(further + 1 / self.n)
        return self.mean - half, self.mean + half

    def over(self, limit: float) -> float:
        """p of the one-sided t test of a mean of at most `limit`; where most seeds agree, 2^-n at least."""
        return max(self.floor, float(student.sf((self.mean - limit) / self.spread * math.sqrt(self.n), self.n - 1)))

    def under(self, limit: float) -> float:
        """p of the one-sided t test of a mean of at least `limit`; where most seeds agree, 2^-n at least."""
        return max(self.floor, float(student.sf((limit - self.mean) / self.spread * math.sqrt(self.n), self.n - 1)))

    @property
    def floor(self) -> float:
        return 2.0**-self.n if self.tied else 0.0

    @property
    def p(self) -> float | None:
        """Of the test behind "reproduced"; none where the words ask for an interval alone."""
        match self.kind:
            case "above":
                return self.over(self.high)
            case "below":
                return self.under(self.low)
            case "equal":
                return max(self.over(self.low), self.under(self.high))
            case "near":
                return max(self.over(self.low - self.most), self.under(self.high + self.most))
        return None

    @property
    def agree(self) -> bool:
        """Do all seeds give the same number? They then have no spread that a t test could use."""
        return not self.spread > 1e-14 * max(1.0, abs(self.mean))

    @property
    def tied(self) -> bool:
        """Do more than half of the seeds give the same number?"""
        digits = list(np.round(self.values / max(1.0, np.max(np.abs(self.values))), 13))
        return 2 * max(map(digits.count, digits)) > self.n

    @property
    def turned(self) -> "Number":
        """The same question with signs turned."""
        return replace(self, kind="above", values=-self.values, low=-self.high, high=-self.low)

    @property
    def small(self) -> bool:
        """Is the effect between 0 and the margin?"""
        low, high = self.ends(self.level)
        return low > min(0.0, self.high) and high < self.high

    @property
    def p_against(self) -> float:
        """Of the test behind "contradicted" or, where that is the verdict, "below margin"."""
        if self.around_zero and self.kind == "below":
            return self.turned.p_against
        if self.around_zero:
            zero, margin = min(0.0, self.high), self.high
            if self.decided == "below margin":
                return max(self.over(zero), self.under(margin))
            return min(self.under(zero), max(self.over(2 * zero - margin), self.under(margin)))
        match self.kind:
            case "above":
                return self.under(self.low)
            case "below":
                return self.over(self.high)
            case "another" | "near":
                away = max(0.0, self.low - self.mean, self.mean - self.high)
                return 2 * float(student.sf(away / self.spread / math.sqrt(1 + 1 / self.n), self.n - 1))
        return min(1.0, 2 * min(self.over(self.high), self.under(self.low)))

    @property
    def decided(self) -> Decided:
        """The verdict before Holm's correction."""
        if self.n < FEWEST or not np.isfinite(self.values).all():
            return "undecided"
        few = self.tied and self.n < (TIED_ONE_MORE if self.kind in ("another", "near") else TIED)
        if few and self.kind != "equal":
            return "undecided"
        if self.around_zero and self.kind == "below":
            return self.turned.decided
        low, high = self.ends(self.level)
        outside = high < self.low or low > self.high
        if self.around_zero and high < self.high:
            zero = min(0.0, self.high)
            if self.small:
                return "below margin"
            return "contradicted" if self.refutes and (high < zero or low > 2 * zero - self.high) else "undecided"
        match self.kind:
            case "above":
                holds, fails = low > self.high, high < self.low
            case "below":
                holds, fails = high < self.low, low > self.high
            case "equal":
                inner = self.ends(2 * self.level - 1)
                holds, fails = inner[0] > self.low and inner[1] < self.high, outside and not few
            case "inside":
                holds, fails = low >= self.low and high <= self.high, outside
            case "near":
                inner = self._interval(2 * self.level - 1, 0)
                around = inner[0] > self.low - self.most and inner[1] < self.high + self.most
                holds, fails = around and not outside, outside
            case _:
                holds, fails = not outside and (high - low) / 2 <= self.most, outside
        if holds:
            return "reproduced" if self.supports else "undecided"
        return "contradicted" if fails and self.refutes else "undecided"


@dataclass(frozen=True)
class Each:
    """Several numbers that must all hold; `refuting` of them refute."""

    numbers: tuple[Number, ...]
    refuting: int = 1

    @property
    def p(self) -> float | None:
        found = [one.p for one in self.numbers]
        return None if None in found else max(p for p in found if p is not None)

    @property
    def p_against(self) -> float:
        """Of "any one of them refutes"; of "below margin", of each number what it says, and of one that it is small."""
        if self.together == "below margin":
            small = [one.p_against for one in self.numbers if one.decided == "below margin"]
            large = [one.p for one in self.numbers if one.decided == "reproduced" and one.p is not None]
            return max(*small, *large, min(1.0, len(self.numbers) * min(small)))
        found = sorted(1.0 if one.decided == "below margin" else one.p_against for one in self.numbers)
        return min(1.0, (len(found) - self.refuting + 1) * found[self.refuting - 1])

    @property
    def weakest(self) -> Number:
        """The number with the largest p."""
        return max(self.numbers, key=lambda one: 1.0 if one.p is None else one.p)

    @property
    def decided(self) -> Decided:
        return self.together

    @property
    def together(self) -> Decided:
        """The verdict of the numbers, without other conditions."""
        found = [one.decided for one in self.numbers]
        if found.count("contradicted") >= self.refuting:
            return "contradicted"
        if set(found) <= {"reproduced", "below margin"}:
            return "below margin" if "below margin" in found else "reproduced"
        return "undecided"


@dataclass(frozen=True)
class Best:
    """The best of several numbers, each at the level of Bonferroni's correction. All of them refute."""

    chosen: Number | Each
    tried: tuple[Number | Each, ...]

    @property
    def numbers(self) -> tuple[Number, ...]:
        return self.chosen.numbers if isinstance(self.chosen, Each) else (self.chosen,)

    @property
    def p(self) -> float | None:
        return None if self.chosen.p is None else min(1.0, len(self.tried) * self.chosen.p)

    @property
    def p_against(self) -> float:
        return max(one.p_against for one in self.tried)

    @property
    def decided(self) -> Decided:
        if self.chosen.decided == "reproduced":
            return "reproduced"
        return "contradicted" if all(one.decided == "contradicted" for one in self.tried) else "undecided"


@dataclass(frozen=True)
class Course(Each):
    """The first and the last number of a course, both above their margins, and the one place between them where it
    changes its sign: the place and the ends of its interval, at most a factor `most` apart. None: not one place.
    """

    place: tuple[float, float, float] | None = None
    most: float = math.inf

    @property
    def decided(self) -> Decided:
        found = self.together
        is_place = self.place is not None and self.place[2] <= self.most * self.place[1]
        return found if is_place or found == "contradicted" else "undecided"


@dataclass(frozen=True)
class Share:
    """Few of `hits`, zeros and ones, are ones: their share is below `limit` by the exact interval, refuted above it.

    beside: ones and number of the share that the verdict's text gives. If that share is below `small`, the claim is
    refuted too.
    """

    hits: np.ndarray
    limit: float
    beside: tuple[int, int]
    small: float = 0.0

    @property
    def n(self) -> int:
        return len(self.hits)

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.hits)) if self.n > 1 else None

    @property
    def spread(self) -> float | None:
        return float(np.std(self.hits, ddof=1)) if self.n > 1 else None

    @property
    def agree(self) -> bool:
        """An exact test needs no spread."""
        return False

    @property
    def numbers(self) -> tuple["Share", ...]:
        return (self,)

    @property
    def shown(self) -> tuple[float, float, float]:
        """The share beside, and its interval."""
        ones, n = self.beside
        return (ones / n, *exact_interval(ones, n)) if n else (math.nan, 0.0, 1.0)

    @property
    def _little(self) -> bool:
        """Is the share beside so small that this refutes the claim?"""
        undecided = self.n < FEWEST or self._by_hits == "undecided"
        return undecided and self.beside[1] >= FEWEST and self.shown[2] < self.small

    @property
    def _by_hits(self) -> Decided:
        if self.n < FEWEST:
            return "undecided"
        low, high = exact_interval(int(self.hits.sum()), self.n)
        return "reproduced" if high < self.limit else "contradicted" if low > self.limit else "undecided"

    @property
    def p(self) -> float:
        return float(binom.cdf(self.hits.sum(), self.n, self.limit))

    @property
    def p_against(self) -> float:
        if self._little:
            return float(binom.cdf(*self.beside, self.small))
        return float(binom.sf(self.hits.sum() - 1, self.n, self.limit))

    @property
    def decided(self) -> Decided:
        return "contradicted" if self._little else self._by_hits


@dataclass(frozen=True)
class Fact:
    """Counted or calculated, without a test: does it hold, and is it refuted where it does not? None: neither."""

    holds: bool | None
    value: float | None = None

    @property
    def decided(self) -> Decided:
        if self.holds is None:
            return "undecided"
        return "reproduced" if self.holds else "contradicted"


Part = Number | Each | Best | Share | Fact


def above(values: np.ndarray, margin: float, refuted_below: float | None = None, **conditions: Any) -> Number:
    """The lower end of the 95 % t interval above `margin`; refuted by an upper end below it, or below another limit."""
    return Number("above", values, margin if refuted_below is None else refuted_below, margin, **conditions)


def below(values: np.ndarray, limit: float, **conditions: Any) -> Number:
    """The upper end of the 95 % t interval below `limit`; refuted by a lower end above it."""
    return Number("below", values, limit, limit, **conditions)


def equal(values: np.ndarray, margin: float) -> Number:
    """TOST: the 90 % t interval inside +- margin; refuted by a 95 % t interval outside."""
    return Number("equal", values, -margin, margin)


def another(values: np.ndarray, printed: float, most: float = math.inf, rounding: float = 0.0) -> Number:
    """A number that rounds to the printed one in the 95 % prediction interval, of half width `most` or less."""
    return Number("another", values, printed - rounding, printed + rounding, most)


def near(values: np.ndarray, printed: float, most: float, **conditions: Any) -> Number:
    """The printed number in the 95 % prediction interval, and the mean within `most` of it."""
    return Number("near", values, printed, printed, most, **conditions)


def exact_interval(ones: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Of a share (Clopper & Pearson 1934)."""
    tail = (1 - level) / 2
    low = beta.ppf(tail, ones, n - ones + 1) if ones else 0.0
    high = beta.ppf(1 - tail, ones + 1, n - ones) if ones < n else 1.0
    return float(low), float(high)


def each(numbers: Iterable[Number], refuting: int = 1) -> Each:
    """All of several numbers."""
    return Each(tuple(numbers), refuting)


def survives(p_values: Mapping[str, float], level: float = 0.05) -> dict[str, bool]:
    """Holm (1979): in ascending order, the i-th of m and all before it are at most level / (m - i + 1)."""
    found, alive, m = {}, True, len(p_values)
    for i, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        alive = alive and p_values[name] <= level / (m - i)
        found[name] = alive
    return found
