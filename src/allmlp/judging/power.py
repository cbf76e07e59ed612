"""Power before the run: the chance that each rule decides rightly at its planned number of seeds.

Each number behind a verdict (`evidence_summary.Grounds`, in claims.json) is drawn from a normal distribution with the
spread measured so far, and judged by the rule itself: once with the claim true, once with it false. A verdict must
survive Holm's correction, too: at the p that this asks of the part, given the other tests of its study as they were
found. Left out are guards that withhold a verdict, and the uncertainty of a spread from few seeds. If a rule looks for
the clearest of several cells or tasks, only the one that was the clearest is drawn.

"True" is the claim's own `effect` for that part if claims.yaml gives one. Else it is, for "above a margin", twice the
margin (zero for a negative margin, one spread for a margin of zero), and the mirror image for "below"; for "equal", no
difference; for a printed number, one more draw from the same distribution; for a share, all seeds or none. "Not true"
is no effect; of a limit without a natural zero, equally far on its other side; for "equal", twice the margin; for a
printed number, two largest half widths away.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allmlp.judging.correction import LEVEL
from allmlp.judging.evidence_summary import (
    CONTRADICTED,
    FEWEST_SEEDS,
    OF_ONE_MORE,
    REPRODUCED,
    UNDECIDED,
    Basis,
    Grounds,
    Rule,
    join_verdicts,
)

DRAWS, MOST = 2000, 128  # simulated experiments, and seeds of the largest
ENOUGH, TOO_LITTLE = 0.8, 0.5
SHIFT = 61  # rows by which the draws of a part's numbers are shifted


@cache
def _normal() -> NDArray[np.float64]:
    """Standard normal draws, the same each time: (DRAWS, MOST) and one more column for a printed number."""
    return np.random.default_rng(0).standard_normal((DRAWS, MOST + 1))


def effects(rule: Rule, spread: float, claimed: float | None = None) -> tuple[float, float]:
    """The mean if the claim is true, and if it is not, as the module's docstring says."""
    low, high = rule.low, rule.high
    match rule.kind:
        case "better":
            default = 2 * high if high > 0 else 0.0 if high < 0 else spread
            true = default if claimed is None else claimed
            return true, low if low < high else low - (true - high)
        case "below":
            default = 0.0 if low > 0 else 2 * low if low < 0 else -spread
            true = default if claimed is None else claimed
            return true, high if low < high else high + (low - true)
        case "all" | "few":
            return (1.0, 0.0) if rule.kind == "all" else (0.0, 1.0)
        case "equal":
            return (0.0 if claimed is None else claimed), 2 * high
        case "inside":
            return ((low + high) / 2 if claimed is None else claimed), high + (high - low) / 2
    return (low + high) / 2, (low + high) / 2 + 2 * rule.limit


class Thresholds(NamedTuple):
    """The largest p that survives Holm's correction, of each of a part's two tests; None for a verdict without one."""

    true: float | None
    false: float | None


UNCORRECTED = Thresholds(None, None)


@cache  # advice for several scales tries the same numbers of seeds
def chance(
    rests: Grounds, n: int, *, true: bool, claimed: float | None = None, largest: Thresholds = UNCORRECTED
) -> float:
    """The share of draws of n seeds in which the verdict is right and survives Holm's correction."""
    values = [_draw_values(basis, place, n, true, claimed) for place, basis in enumerate(rests.of)]
    right = REPRODUCED if true else CONTRADICTED
    return float((decide(rests, values, largest.true if true else largest.false, true=true) == right).mean())


def decide(rests: Grounds, values: Sequence[ArrayLike], largest: float | None, *, true: bool) -> NDArray[np.int8]:
    """As `Grounds.decide`, undecided unless the p of the part is at most `largest`, of the verdict that is right.

    Of several numbers it is the p of a partial conjunction (`multiplicity`): some numbers must each have a smaller one.
    """
    if largest is None:
        return rests.decide(values)
    of_number = largest / (rests.tolerated + 1 if true else len(rests.of) - rests.refuting + 1)
    decided = []
    for basis, x in zip(rests.of, values, strict=True):
        own, strict = basis.rule.decide(x), _stricter(basis.rule, of_number).decide(x)
        decided.append(np.where(own == strict, own, np.int8(UNDECIDED)))
    return join_verdicts(decided, rests.tolerated, rests.refuting)


def _stricter(rule: Rule, largest: float) -> Rule:
    """The rule with intervals that decide where its p is at most `largest`: one-sided tests are as strict as one tail
    is small, the others as both together. A level above 95 % is already corrected for a choice among numbers."""
    tails = 2 if rule.kind in ("better", "below", "all", "few") else 1
    return replace(rule, level=1 - (1 - rule.level) * min(1.0, tails * largest / LEVEL))


def _draw_values(basis: Basis, place: int, n: int, true: bool, claimed: float | None) -> NDArray[np.float64]:
    """Values (DRAWS, n) of the number at this place of a part. Two numbers of a part get different draws."""
    rows = np.roll(np.arange(DRAWS), -SHIFT * place)
    mean = effects(basis.rule, basis.spread, claimed)[0 if true else 1]
    z = _normal()[rows, :n]
    if basis.rule.kind in ("all", "few"):
        return np.full(z.shape, mean)
    if basis.rule.kind in OF_ONE_MORE and true:
        z = z - _normal()[rows, -1:]  # the printed number is one more draw: it stays fixed and our mean moves instead
    return mean + basis.spread * z


def required_seeds(
    rests: Grounds,
    *,
    true: bool,
    claimed: float | None = None,
    largest: Thresholds = UNCORRECTED,
    wanted: float = ENOUGH,
) -> int | None:
    """The fewest seeds with a chance of at least `wanted`; None where that takes more than MOST."""
    few, enough = FEWEST_SEEDS - 1, FEWEST_SEEDS
    while chance(rests, enough, true=true, claimed=claimed, largest=largest) < wanted:
        if enough == MOST:
            return None
        few, enough = enough, min(2 * enough, MOST)
    while enough - few > 1:
        middle = (few + enough) // 2
        if chance(rests, middle, true=true, claimed=claimed, largest=largest) >= wanted:
            enough = middle
        else:
            few = middle
    return enough


class Advice(NamedTuple):
    """What a rule that would not decide needs: so many seeds, None where MOST are too few; and in words.

    `never`: with MOST seeds it decides in less than half of the cases.
    """

    seeds: int | None
    never: bool
    words: str


def advice(rests: Grounds, *, true: bool, claimed: float | None = None, largest: Thresholds = UNCORRECTED) -> Advice:
    """What a rule that would not decide needs."""
    if enough := required_seeds(rests, true=true, claimed=claimed, largest=largest):
        return Advice(enough, False, f"needs more seeds: {enough} for {ENOUGH:.0%}")
    if chance(rests, MOST, true=true, claimed=claimed, largest=largest) >= TOO_LITTLE:
        return Advice(None, False, f"needs more seeds: over {MOST} for {ENOUGH:.0%}")
    if true and (why := futility_reason(rests)):
        return Advice(None, True, f"cannot decide at any n: {why}")
    return Advice(None, True, f"cannot decide with {MOST} seeds or fewer")


def assumed_effects(rests: Grounds, claimed: float | None = None) -> tuple[float, float] | None:
    """What the one number of a part is if the claim is true, and if it is not; None for a part with several numbers, or
    one that is compared with a printed number or a share.
    """
    if len(rests.of) != 1 or rests.of[0].rule.kind not in ("better", "below", "equal", "inside"):
        return None
    return effects(rests.of[0].rule, rests.of[0].spread, claimed)


def futility_reason(rests: Grounds) -> str:
    """Why no number of seeds of this spread can reproduce the part; empty if enough of them can.

    With ever more seeds the interval of a mean shrinks to a point, which may lie anywhere. That of one more seed does
    not: a rule that wants it narrower than the seeds spread has no way to "reproduced".
    """
    for basis in rests.of:
        if basis.is_futile:
            half, limit = basis.narrowest_half_width, basis.rule.limit
            return f"one seed's spread alone is ±{half:.3g}, the limit {limit:.3g}"
    return ""
