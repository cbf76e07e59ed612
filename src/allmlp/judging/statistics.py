"""Intervals over training seeds, and the findings that claims are judged by: one value per run everywhere.

    >>> judge_better([0.9, 1.1, 1.0, 0.8, 1.2], margin=0.5, unit="nats").verdict
    'reproduced'
    >>> judge_equal([0.01, -0.02, 0.00, 0.02, -0.01], margin=0.1).verdict
    'reproduced'

No bootstrap: its 95 % percentile interval excludes the true mean 25 % of the time at 3 seeds and 16 % at 5,
the t interval 5 % (`tests/numerics/test_false_alarms.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.special import bdtr, stdtr  # as in scipy.stats, which is slow to import

from allmlp.judging.evidence_summary import (
    BELOW_MARGIN,
    CONTRADICTED,
    FEWEST_SEEDS,
    OF_ONE_MORE,
    REPRODUCED,
    ROUNDING,
    UNDECIDED,
    Grounds,
    Rule,
    apply_rule,
    fewest_agreeing_seeds,
    has_little_spread,
    is_constant,
    share_ends,
    student_interval,
)

Values = Sequence[float] | np.ndarray  # (n,), one per seed
Verdict = Literal["reproduced", "partly", "below margin", "contradicted", "undecided"]
NotTestable = Literal["not testable at this scale"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
BELOW: Verdict = "below margin"  # in the claimed direction, by less than the margin
DECIDED: dict[int, Verdict] = {
    REPRODUCED: "reproduced",
    UNDECIDED: "undecided",
    CONTRADICTED: "contradicted",
    BELOW_MARGIN: BELOW,
}
# The test of a verdict:
RESTS_ON: Mapping[str, str] = {"reproduced": "p", "contradicted": "p_against", BELOW: "p_against"}
NOT_TESTABLE: NotTestable = "not testable at this scale"
CORRECTED = "corrected"  # how a contradicted number is called if the right one is known


class Interval(NamedTuple):
    """A mean (or share) of n values and an interval around it; infinite where n is too small for one."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the distance between the two ends, in the unit of the values."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Part:
    """One listed part of a claim: its name, verdict, reason, and the p values of its finding.

    `indication`: the verdict that its numbers would give, if the part is not testable at this scale. `premise_not_met`,
    `corrected`: as in Finding.
    """

    name: str
    verdict: Verdict | NotTestable
    text: str = ""
    p: float | None = None
    indication: Verdict | None = None
    p_against: float | None = None
    premise_not_met: str = ""
    corrected: bool = False


@dataclass(frozen=True)
class Finding:
    """The result for one claim: verdict, statistic, its interval, number of seeds, unit, one sentence.

    For `allmlp.judging.correction.holm`: `p` is the p value of the test behind "reproduced", `p_against` of the test
    behind "contradicted" or, where that is the verdict, "below margin"; None for a verdict without a test. `rests`:
    part -> the rule and spread that decide, "" for a finding without parts; nothing for exact results.
    `premise_not_met`: why the rule could not be applied (see `judging.rules.premise`). `corrected`: it contradicts the
    paper's number by the right one, which is calculated. `here`: key of the claim's `paper` -> the same number here, a
    mean over seeds where there are several.
    """

    verdict: Verdict
    value: float
    low: float
    high: float
    n: int
    unit: str
    text: str
    p: float | None = None
    parts: tuple[Part, ...] = ()
    rests: Mapping[str, Grounds] = field(default_factory=dict, compare=False, repr=False)
    p_against: float | None = None
    premise_not_met: str = ""
    corrected: bool = False
    here: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r}: choose one of {', '.join(VERDICTS)}")


def t_interval(values: Values, level: float = 0.95) -> Interval:
    """mean ± t s / sqrt(n), t the (1 + level)/2 quantile of Student's t with n - 1 degrees (Student 1908).

    values: (n,), one per seed, in any unit. With one value the bounds are infinite. With no value, or one that is not
    finite (a diverged seed), the mean is NaN too.
    """
    return _student(values, level, further=0)


def prediction_interval(values: Values, level: float = 0.95) -> Interval:
    """mean ± t s sqrt(1 + 1/n): where one further seed would fall (Hahn & Meeker 1991, section 4.7).

    values: (n,), one per seed. Bounds as in `t_interval` for few or non-finite values.
    """
    return _student(values, level, further=1)


def share_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of a share, k of n runs (Clopper & Pearson 1934), from beta quantiles: never too narrow.

    low = B(a; k, n-k+1), high = B(1-a; k+1, n-k), a = (1 - level)/2. Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
    if n == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    return Interval(k / n, *share_ends(n, level)[k], n)


def p_share_below(k: int, n: int, limit: float) -> float:
    """One-sided binomial test of a share of at least `limit`: the chance of k of n or fewer."""
    return float(bdtr(k, n, limit))


def p_share_above(k: int, n: int, limit: float) -> float:
    """One-sided binomial test of a share of at most `limit`: the chance of k of n or more."""
    return 1 - float(bdtr(k - 1, n, limit)) if k else 1.0


def judge_better(differences: Values, margin: float, level: float = 0.95, unit: str = "", none: float = 0.0) -> Finding:
    """Does the seed-paired difference exceed `margin`? Its t interval decides. `none`: its value without an effect.

    differences: (n,), larger is better. Low end above the margin: reproduced. High end below `none`, or the whole
    interval nearer to it than the margin without showing a direction: contradicted. Between `none` and the margin:
    below margin. Else, or with fewer than 5 seeds: undecided. p, p_against: see `p_above` and `p_not_better`. A margin
    that is not above `none` (not worse by more than ...) leaves no room for "below margin".
    """
    zero = min(none, margin)
    interval, rule = t_interval(differences, level), Rule("better", zero, margin, level)
    text = f"{interval_text(interval, level, 't', unit)}, against a margin of {margin:g}"
    found = make_finding(rule, differences, interval, unit, text, p_above(differences, margin))
    return replace(found, p_against=p_not_better(differences, zero, margin, small=found.verdict == BELOW))


def judge_equal(differences: Values, margin: float, level: float = 0.95, unit: str = "") -> Finding:
    """Is the seed-paired difference within ± margin? Two one-sided t tests (TOST, Schuirmann 1987).

    differences: (n,). The 2 level - 1 (90 %) t interval inside ± margin: reproduced; the `level` (95 %) one, which the
    finding reports, wholly outside: contradicted; else, or with fewer than 5 seeds: undecided. p: the larger of the two
    tests' (of |mean| >= margin). p_against: of |mean| <= margin, see `p_outside`. Raises ValueError unless margin > 0.
    """
    if not margin > 0:
        raise ValueError(f"a margin of equality must be positive, not {margin}")
    wide, narrow = t_interval(differences, level), t_interval(differences, 2 * level - 1)
    p = max(p_above(differences, -margin), p_below(differences, margin))
    p_against = p_outside(differences, -margin, margin)
    known = -math.inf < narrow.low < narrow.high
    inner = f" ({200 * level - 100:g} % interval {narrow.low:.3g} to {narrow.high:.3g})" if known else ""
    text = f"{interval_text(wide, level, 't', unit)}{inner}, against a margin of ±{margin:g}"
    return make_finding(Rule("equal", -margin, margin, level), differences, wide, unit, text, p, p_against)


def judge_prediction(
    values: Values,
    paper_value: float,
    *,
    max_half_width: float,
    rounding: float = 0.0,
    level: float = 0.95,
    unit: str = "",
) -> Finding:
    """Could the paper's single number be one more of our seeds? `prediction_interval` decides.

    values: (n,). Outside by more than `rounding` (half a unit of the last printed digit): contradicted.
    Inside: reproduced, but only if the half width is at most `max_half_width`: a wider interval would contain anything.
    Else, or with fewer than 5 seeds: undecided. p_against: two-sided, for the nearest number that rounds to the paper's
    as one more seed; "reproduced" has no test.
    """
    interval = prediction_interval(values, level)
    rule = Rule("prediction", paper_value - rounding, paper_value + rounding, level, max_half_width)
    inside = interval.low <= rule.high and rule.low <= interval.high
    text = f"{interval_text(interval, level, 'prediction', unit)}; the paper says {paper_value:g}"
    p_against = _p_new_seed(values, max(0.0, abs(paper_value - interval.mean) - rounding))
    found = make_finding(rule, values, interval, unit, text, p_against=p_against)
    if inside and interval.half_width > max_half_width:
        futile = any(basis.is_futile for basis in found.rests[""].of)
        wide = f"too wide to tell{', however many seeds' if futile else ''}"
        found = replace(found, text=f"{text} (half width above {max_half_width:g}: {wide})")
    return found


def judge_near_printed(values: Values, paper_value: float, *, distance: float, level: float = 0.95) -> Finding:
    """Could the paper's single number be one more of our seeds, and is it typical of them?

    values: (n,). Outside `prediction_interval`: contradicted. Inside, and the mean within `distance` of it by two
    one-sided tests: reproduced. Else, or with fewer than 5 seeds: undecided. It decides at any spread of seeds, where
    `judge_prediction` would ask for an interval narrower than the spread itself. p: of the two tests; p_against: of
    one more seed.
    """
    interval = prediction_interval(values, level)
    rule = Rule("near", paper_value, paper_value, level, distance)
    text = f"{interval_text(interval, level, 'prediction', unit='')}; the paper says {paper_value:g}"
    p = max(p_above(values, paper_value - distance), p_below(values, paper_value + distance))
    p_against = _p_new_seed(values, abs(paper_value - interval.mean))
    return make_finding(rule, values, interval, "", text, p, p_against)


def make_finding(
    rule: Rule,
    values: Values,
    interval: Interval,
    unit: str,
    text: str,
    p: float | None = None,
    p_against: float | None = None,
) -> Finding:
    """The finding of one rule on values (n,), one per seed, with the basis of its verdict."""
    verdict, rests = DECIDED[int(rule.decide(values))], {"": apply_rule(rule, values)}
    needed = fewest_agreeing_seeds(rule.level, further=int(rule.kind in OF_ONE_MORE))
    seeds_agree = has_little_spread(values) and not is_constant(values)
    if verdict == "undecided" and FEWEST_SEEDS <= interval.n < needed and seeds_agree:
        text += f" (more than half of the seeds agree: a verdict needs {needed})"
    return Finding(verdict, *interval, unit, text, p, rests=rests, p_against=p_against)


def _student(values: Values, level: float, further: int) -> Interval:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"one value per seed, not shape {x.shape}")
    mean, low, high = student_interval(x, level, further)
    return Interval(float(mean), float(low), float(high), len(x))


def p_above(values: Values, margin: float) -> float:
    """p of the one-sided t test of mean <= margin; 1 without a test.

    Where all seeds agree the t test has no spread to go by, and a p of 0 would be false. The sign test needs none: p is
    2^-n, the chance that n seeds lie above a margin that each is as likely to miss. Where more than half agree, the
    larger of both.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.isfinite(x).all():
        return 1.0
    if is_constant(x):
        return 2.0 ** -len(x) if x.min() > margin else 1.0
    p = float(stdtr(len(x) - 1, (margin - x.mean()) / x.std(ddof=1) * math.sqrt(len(x))))
    return max(p, 2.0 ** -len(x)) if has_little_spread(x) else p


def p_below(values: Values, margin: float) -> float:
    """p of the one-sided t test of mean >= margin, as `p_above`."""
    return p_above(-np.asarray(values, dtype=np.float64), -margin)


def p_not_better(values: Values, none: float, margin: float, *, small: bool) -> float:
    """Of the test behind "below margin", if the verdict is that the effect is `small`, else behind "contradicted".

    Below margin: none < mean < margin, so the larger of two one-sided p. Contradicted: mean < none, or a mean within
    the margin around it (two one-sided tests), so the smaller of both p. That smaller one needs no factor for two
    chances: either is true below the margin, and above it both need mean < margin to be rejected.
    """
    less = p_below(values, margin)
    if small:
        return max(p_above(values, none), less)
    return min(p_below(values, none), max(p_above(values, 2 * none - margin), less))


def p_outside(values: Values, low: float, high: float) -> float:
    """Test of low <= mean <= high: twice the smaller of the two one-sided p, valid however near the two ends are."""
    return min(1.0, 2 * min(p_above(values, high), p_below(values, low)))


def _p_new_seed(values: Values, distance: float) -> float:
    """Two-sided p of one more seed at this distance from the mean; 1 without a test.

    Where all n seeds agree, 2 / (n + 1): the chance that one of n + 1 lies outside all others. Where more than half
    agree, the larger of both.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.isfinite(x).all():
        return 1.0
    if is_constant(x):
        return 2 / (len(x) + 1) if distance > ROUNDING * max(1.0, abs(x[0])) else 1.0
    p = 2 * float(stdtr(len(x) - 1, -distance / float(x.std(ddof=1)) / math.sqrt(1 + 1 / len(x))))
    return max(p, 2 / (len(x) + 1)) if has_little_spread(x) else p


def interval_text(interval: Interval, level: float, kind: str, unit: str) -> str:
    """`mean 0.1 nats, 95 % t interval 0.05 to 0.15, n = 5`; without a mean, why there is none."""
    if not interval.n:
        return "no seed has this number"
    if math.isnan(interval.mean):
        return f"no mean: of {interval.n} seeds, some diverged or gave no number"
    value = " ".join(filter(None, [f"{interval.mean:.3g}", unit]))
    few = "" if interval.n >= FEWEST_SEEDS else f" (a verdict needs {FEWEST_SEEDS})"
    if interval.n == 1:
        return f"{value}, n = 1, which gives no interval{few}"
    if interval.low == interval.high:
        needed = fewest_agreeing_seeds(level, further=int(kind == "prediction"))
        few = few or (f" (a verdict needs {needed} that agree)" if interval.n < needed else "")
        return f"{value} in each of {interval.n} seeds{few}"
    bounds = f"{interval.low:.3g} to {interval.high:.3g}"
    return f"mean {value}, {level * 100:g} % {kind} interval {bounds}, n = {interval.n}{few}"
