"""Intervals and verdicts against scipy.stats, published tables and their own rules."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from allmlp.judging.evidence_summary import Rule, apply_rule, has_little_spread
from allmlp.judging.rules import judge_above, judge_below
from allmlp.judging.statistics import (
    Interval,
    judge_better,
    judge_equal,
    judge_near_printed,
    judge_prediction,
    p_above,
    p_below,
    p_outside,
    p_share_above,
    p_share_below,
    prediction_interval,
    share_interval,
    t_interval,
)

SAMPLE = [0.61, 0.74, 0.55, 0.80, 0.68, 0.59, 0.77, 0.70]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_t_interval_is_students(n, level):
    x = np.array(SAMPLE[:n])
    expected = stats.t.interval(level, n - 1, x.mean(), stats.sem(x))
    assert t_interval(x, level)[1:3] == pytest.approx(expected, rel=1e-10)


def test_prediction_interval_agrees_with_the_published_example():
    # Hahn & Meeker, Statistical Intervals, section 4.7: n = 5, mean 50.10, s = 1.31, one future observation
    z = np.array([-1.2649110640673518, -0.6324555320336759, 0.0, 0.6324555320336759, 1.2649110640673518])
    interval = prediction_interval(50.10 + 1.31 * z)
    assert interval.low == pytest.approx(46.1, abs=0.06)
    assert interval.high == pytest.approx(54.1, abs=0.06)


@pytest.mark.parametrize("make", [t_interval, prediction_interval])
def test_too_few_or_diverged_seeds_have_infinite_bounds(make):
    assert make([0.3]) == (0.3, -math.inf, math.inf, 1)
    for values in ([], [0.3, math.nan, 0.2], [0.3, math.inf, 0.2, 0.1, 0.5]):
        interval = make(values)
        assert math.isnan(interval.mean)
        assert interval[1:] == (-math.inf, math.inf, len(values))


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 7), (5, 5), (11, 40)])
def test_share_interval_is_clopper_pearson(k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert share_interval(k, n) == (k / n, pytest.approx(expected.low, 1e-9), pytest.approx(expected.high, 1e-9), n)
    narrow = stats.binomtest(k, n).proportion_ci(0.8, method="exact")
    assert share_interval(k, n, 0.8)[1:3] == pytest.approx((narrow.low, narrow.high), rel=1e-9)


def test_share_of_nothing_and_nonsense():
    assert math.isnan(share_interval(0, 0).mean)
    assert share_interval(0, 0)[1:] == (0.0, 1.0, 0)
    for k in (6, -1):
        with pytest.raises(ValueError, match=f"^{k} of 5 is not a share$"):
            share_interval(k, 5)


@pytest.mark.parametrize(("k", "n", "limit"), [(0, 5, 0.4), (1, 5, 0.4), (4, 7, 0.9), (7, 7, 0.5)])
def test_shares_are_tested_by_the_binomial_distribution(k, n, limit):
    assert p_share_below(k, n, limit) == pytest.approx(stats.binomtest(k, n, limit, alternative="less").pvalue)
    assert p_share_above(k, n, limit) == pytest.approx(stats.binomtest(k, n, limit, alternative="greater").pvalue)


def test_half_width_and_the_mean_of_an_interval():
    assert Interval(2.0, 1.0, 4.0, 5).half_width == 1.5
    assert t_interval([1.0, 2.0, 6.0]).mean == 3.0
    assert t_interval([1.0, 2.0, 6.0]).n == 3
    x = np.array(SAMPLE)
    half = stats.t.ppf(0.9, 7) * x.std(ddof=1) * math.sqrt(1 + 1 / 8)
    assert prediction_interval(SAMPLE, 0.8)[1:3] == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-10)


def test_numbers_of_lower_precision_are_computed_in_float64():
    single = np.array(SAMPLE, dtype=np.float32)
    double = single.astype(np.float64)
    assert t_interval(single) == t_interval(double)
    assert p_above(single, 0.6) == p_above(double, 0.6)
    assert p_below(single, 0.7) == p_below(double, 0.7)
    assert p_below(np.array([1, 2, 3], np.uint8), 2.5) == p_below([1.0, 2.0, 3.0], 2.5)
    ours, theirs = (judge_prediction(x, 0.9, max_half_width=1) for x in (single, double))
    assert ours == theirs


@pytest.mark.parametrize(("margin", "verdict"), [(0.5, "reproduced"), (0.65, "undecided"), (0.9, "below margin")])
def test_better_is_where_the_interval_lies(margin, verdict):
    finding = judge_better(SAMPLE, margin, unit="nats")
    assert finding.verdict == verdict
    assert finding.p == pytest.approx(stats.ttest_1samp(SAMPLE, margin, alternative="greater").pvalue)
    assert (finding.low, finding.high) == t_interval(SAMPLE)[1:3]
    for piece in ("nats", f"{finding.value:.3g}", f"{margin:g}", "n = 8"):
        assert piece in finding.text


AROUND = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (0.3, 0.2, "reproduced"),
        (0.1, 0.2, "below margin"),  # the claimed sign, surely, and surely less than the margin
        (0.01, 0.2, "contradicted"),  # as good as no effect, and no sign to be seen
        (-0.1, 0.2, "contradicted"),  # the wrong sign
        (0.0, 0.01, "undecided"),  # neither shown to be equal nor shown to differ
        (-0.05, -0.1, "reproduced"),  # not worse by more than 0.1
        (-0.2, -0.1, "contradicted"),
    ],
)
def test_below_the_margin_is_a_verdict_of_its_own(mean, margin, verdict):
    values = AROUND + mean
    found, mirrored = judge_better(values, margin), judge_below(-values, -margin, none=0.0)
    assert found.verdict == mirrored.verdict == verdict
    assert (found.p, found.p_against) == (mirrored.p, mirrored.p_against)
    assert judge_better(values + 1, margin + 1, none=1.0).verdict == verdict  # a ratio, whose "no effect" is 1
    assert judge_above(values, margin).verdict == {"below margin": "contradicted"}.get(verdict, verdict)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_fewer_than_five_seeds_decide_nothing(n):
    values = [1.0, 1.01, 0.99, 1.02][:n]
    findings = [judge_better(values, 0), judge_better(values, 9), judge_equal(values, 2), judge_equal(values, 0.1)]
    findings += [judge_prediction(values, v, max_half_width=9) for v in (1, 50)]
    assert {finding.verdict for finding in findings} == {"undecided"}


def test_one_diverged_seed_is_not_dropped():
    values = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98, math.nan]
    for finding in (judge_better(values, 0), judge_equal(values, 2), judge_prediction(values, 1, max_half_width=9)):
        assert (finding.verdict, finding.n) == ("undecided", 7)
        assert "diverged" in finding.text
    assert judge_better(values, 0).p == 1.0


def test_seeds_that_agree_are_judged_by_the_sign_test_and_never_with_certainty():
    """Six of one value exclude at 95 % that it is below the median, five do not: 1 - 2^-5 = 97 %, 1 - 2^-4 = 94 %."""
    assert [judge_better([1.0] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "reproduced"]
    assert [judge_better([-0.4] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "contradicted"]
    assert [judge_better([0.4] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "below margin"]
    assert (
        judge_better([1.0] * 6, 0.5).p
        == judge_better([0.4] * 6, 0.5).p_against
        == judge_better([0.0] * 6, 0.5).p_against
        == 2**-6
    )
    assert judge_better([0.5] * 9, 0.5).verdict == "undecided"
    assert (judge_better([0.5] * 9, 0.5).p, judge_better([0.5] * 9, 0.5).p_against) == (1.0, 1.0)
    assert [judge_equal([0.0] * 5, 0.1).verdict, judge_equal([0.0] * 5, 0.1).p] == ["reproduced", 2**-5]
    assert [judge_equal([0.2] * n, 0.1).verdict for n in (5, 6)] == ["undecided", "contradicted"]
    found = {n: judge_prediction([0.5] * n, 0.6, max_half_width=1) for n in (38, 39)}
    assert [(one.verdict, one.p_against) for one in found.values()] == [("undecided", 2 / 39), ("contradicted", 0.05)]
    assert (
        judge_better([1.0] * 5, 0.5).text
        == "1 in each of 5 seeds (a verdict needs 6 that agree), against a margin of 0.5"
    )


@given(st.floats(-3, 3), st.integers(2, 60), st.floats(0.01, 2))
def test_no_spread_gives_no_p_of_zero(value, n, margin):
    """Also where the seeds differ by rounding only, as means of equal numbers do."""
    for values in ([value] * n, [value] * (n - 1) + [float(np.nextafter(value, 9))]):
        found = [
            judge_better(values, margin),
            judge_equal(values, margin),
            judge_prediction(values, margin, max_half_width=1),
        ]
        found += [judge_below(values, margin)]
        for p in [p for one in found for p in (one.p, one.p_against)]:
            assert p is None or p >= 2.0**-n


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.0, "reproduced"), (0.15, "undecided"), (0.5, "contradicted"), (-0.5, "contradicted")],
)
def test_equal_is_two_one_sided_tests(shift, verdict):
    x = np.array([0.02, -0.05, 0.04, -0.03, 0.01, 0.03]) + shift
    finding = judge_equal(x, 0.15)
    assert finding.verdict == verdict
    below = stats.ttest_1samp(x, -0.15, alternative="greater").pvalue
    above = stats.ttest_1samp(x, 0.15, alternative="less").pvalue
    assert finding.p == pytest.approx(max(below, above))
    assert (finding.verdict == "reproduced") == (finding.p < 0.05)


def test_equal_needs_a_margin():
    for margin in (0, -1):
        with pytest.raises(ValueError, match=f"^a margin of equality must be positive, not {margin}$"):
            judge_equal(SAMPLE, margin)


FEW = "(a verdict needs 5)"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            lambda: judge_better(SAMPLE, 0.5, unit="nats"),
            "mean 0.68 nats, 95 % t interval 0.605 to 0.755, n = 8, against a margin of 0.5",
        ),
        (
            lambda: judge_better(SAMPLE[:3], 0.5, 0.9),
            f"mean 0.633, 90 % t interval 0.47 to 0.797, n = 3 {FEW}, against a margin of 0.5",
        ),
        (
            lambda: judge_better(SAMPLE[:5], 0.5),
            "mean 0.676, 95 % t interval 0.552 to 0.8, n = 5, against a margin of 0.5",
        ),
        (
            lambda: judge_better(SAMPLE[:1], 0.5, unit="nats"),
            f"0.61 nats, n = 1, which gives no interval {FEW}, against a margin of 0.5",
        ),
        (lambda: judge_better([], 0.5), "no seed has this number, against a margin of 0.5"),
        (
            lambda: judge_equal(SAMPLE, 0.7, unit="nats"),
            "mean 0.68 nats, 95 % t interval 0.605 to 0.755, n = 8 (90 % interval 0.62 to 0.74), "
            "against a margin of ±0.7",
        ),
        (
            lambda: judge_equal(SAMPLE[:2], 0.7, 0.9),
            f"mean 0.675, 90 % t interval 0.265 to 1.09, n = 2 {FEW} (80 % interval 0.475 to 0.875), "
            "against a margin of ±0.7",
        ),
        (lambda: judge_equal(SAMPLE[:1], 0.7), f"0.61, n = 1, which gives no interval {FEW}, against a margin of ±0.7"),
        (
            lambda: judge_prediction(SAMPLE, 0.9, max_half_width=0.1, unit="bits"),
            "mean 0.68 bits, 95 % prediction interval 0.455 to 0.905, n = 8; the paper says 0.9 "
            "(half width above 0.1: too wide to tell, however many seeds)",
        ),
        (
            lambda: judge_prediction(SAMPLE, 0.9, max_half_width=0.2),
            "mean 0.68, 95 % prediction interval 0.455 to 0.905, n = 8; the paper says 0.9 "
            "(half width above 0.2: too wide to tell)",
        ),
        (
            lambda: judge_prediction(SAMPLE, 0.9, max_half_width=0.3, level=0.9),
            "mean 0.68, 90 % prediction interval 0.5 to 0.86, n = 8; the paper says 0.9",
        ),
        (
            lambda: judge_prediction(SAMPLE, 9, max_half_width=0.1),
            "mean 0.68, 95 % prediction interval 0.455 to 0.905, n = 8; the paper says 9",
        ),
    ],
)
def test_a_finding_in_words(found, text):
    assert found().text == text


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_finding_holds_its_interval_and_the_basis_of_its_verdict(level):
    given = {"level": level, "unit": "nats"}
    found = judge_better(SAMPLE, 0.6, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*t_interval(SAMPLE, level), "nats")
    assert found.rests == {"": apply_rule(Rule("better", 0.0, 0.6, level), SAMPLE)}
    found = judge_equal(SAMPLE, 0.6, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*t_interval(SAMPLE, level), "nats")
    assert found.rests == {"": apply_rule(Rule("equal", -0.6, 0.6, level), SAMPLE)}
    found = judge_prediction(SAMPLE, 0.6, max_half_width=0.3, rounding=0.25, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*prediction_interval(SAMPLE, level), "nats")
    assert found.rests == {"": apply_rule(Rule("prediction", 0.35, 0.85, level, 0.3), SAMPLE)}
    assert found.p is None


def test_the_ends_themselves_belong_to_an_interval_and_to_a_rounding():
    low, high = prediction_interval(SAMPLE)[1:3]
    wide = "too wide to tell"
    for value in (low, high):
        assert wide in judge_prediction(SAMPLE, value, max_half_width=0.01).text
    half = prediction_interval(SAMPLE).half_width
    assert wide not in judge_prediction(SAMPLE, 0.7, max_half_width=half).text
    assert wide in judge_prediction(SAMPLE, 0.7, max_half_width=half * 0.999).text
    assert wide not in judge_prediction(SAMPLE, high + 0.1, max_half_width=0.01, rounding=0.05).text
    assert wide not in judge_prediction(SAMPLE, low - 0.1, max_half_width=0.01, rounding=0.05).text
    assert wide in judge_prediction(SAMPLE, low - 0.1, max_half_width=0.01, rounding=0.15).text


def test_p_values_of_two_seeds_of_one_and_of_seeds_that_agree():
    two = [0.4, 0.9]
    assert p_above(two, 0.5) == pytest.approx(stats.ttest_1samp(two, 0.5, alternative="greater").pvalue)
    assert p_above([0.9], 0.5) == p_below([0.4], 0.5) == p_above([0.1, 0.2, math.nan], 0) == 1.0
    assert p_above([1.0, 1.0], 0.5) == p_below([0.5, 0.5], 1.0) == 0.25
    assert p_above([1.0, 1.0], 1.0) == p_below([1.0, 1.0], 1.0) == p_above([0.5, 0.5], 1.0) == 1.0
    assert p_outside(SAMPLE, 0.7, 0.9) == pytest.approx(2 * p_below(SAMPLE, 0.7))
    assert p_outside(SAMPLE, 0.1, 0.65) == pytest.approx(2 * p_above(SAMPLE, 0.65))
    assert p_outside(SAMPLE, 0.6, 0.7) == 1.0


def test_p_of_one_more_seed_where_there_are_two_or_they_agree():
    def p(values, paper, rounding=0.0):
        return judge_prediction(values, paper, max_half_width=9, rounding=rounding).p_against

    x = np.array([0.4, 0.9])
    t = (2.0 - x.mean()) / (x.std(ddof=1) * math.sqrt(1.5))
    assert p(x, 2.0) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p(x, -0.7) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p(x, 2.5, rounding=0.5) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p([0.4], 2.0) == p([0.1, 0.2, math.inf], 2.0) == 1.0
    assert (p([0.5] * 5, 0.5), p([0.5] * 5, 0.5001), p([0.5] * 5, 0.75, rounding=0.25)) == (1.0, 1 / 3, 1.0)


def test_a_paper_value_lies_inside_outside_or_in_an_interval_too_wide_to_tell():
    low, high = prediction_interval(SAMPLE)[1:3]
    assert judge_prediction(SAMPLE, high - 1e-9, max_half_width=1).verdict == "reproduced"
    assert judge_prediction(SAMPLE, high - 1e-9, max_half_width=0.1).verdict == "undecided"
    assert judge_prediction(SAMPLE, low - 0.004, max_half_width=1).verdict == "contradicted"
    assert judge_prediction(SAMPLE, low - 0.004, max_half_width=0.1).verdict == "contradicted"
    assert judge_prediction(SAMPLE, low - 0.004, max_half_width=1, rounding=0.005).verdict == "reproduced"


def test_the_unit_is_the_run():
    with pytest.raises(ValueError, match=r"^one value per seed, not shape \(5, 2\)$"):
        t_interval(np.ones((5, 2)))


SAMPLES = st.lists(st.floats(-3, 3), min_size=5, max_size=9).filter(lambda x: np.std(x) > 0.01)


@given(SAMPLES, st.floats(0.01, 2))
def test_each_verdict_has_its_test_below_the_level(values, margin):
    """`better` and the prediction interval exactly where their interval says so, `equal` in both directions."""
    found = judge_above(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.025)
    assert (found.verdict == "contradicted") == (found.p_against < 0.025)
    assert has_little_spread(values) or found.p + found.p_against == pytest.approx(1)
    found = judge_better(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.025)
    assert (found.verdict in ("contradicted", "below margin")) == (found.p_against < 0.025)
    near = judge_near_printed(values, margin, distance=0.5)
    assert (near.verdict == "reproduced") == (near.p < 0.05 <= near.p_against)
    assert (near.verdict == "contradicted") == (near.p_against < 0.05)
    found = judge_equal(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.05)
    assert (found.verdict == "contradicted") == (found.p_against < 0.05)
    found = judge_prediction(values, margin, max_half_width=9, rounding=0.1)
    assert (found.verdict == "contradicted") == (found.p_against < 0.05)


@pytest.mark.parametrize("last", [1.0, 0.998, 0.9])
def test_one_seed_off_a_ceiling_decides_no_more_than_none(last):
    """Where most seeds agree, five decide nothing, whether the last one agrees or not; six may."""
    five, six = judge_above([1.0] * 4 + [last], 0.5), judge_above([1.0] * 5 + [last], 0.5)
    assert (five.verdict, six.verdict) == ("undecided", "reproduced")
    assert (five.p, six.p) == (pytest.approx(2**-5), pytest.approx(2**-6))
    assert "a verdict needs 6" in five.text
    assert not has_little_spread([1.0, 1.0, 1.0, 0.9, 0.8, 0.7])
    assert has_little_spread([0.9, 0.8, 0.7, 1.0, 1.0, 1.0, 1.0])


def test_the_p_of_a_printed_number_is_that_of_one_more_seed():
    x = np.array(SAMPLE)
    t = (0.9 - x.mean()) / (x.std(ddof=1) * math.sqrt(1 + 1 / len(x)))
    assert judge_prediction(x, 0.9, max_half_width=9).p_against == pytest.approx(2 * stats.t.sf(t, len(x) - 1))
    assert judge_prediction(x, x.mean() + 0.1, max_half_width=9, rounding=0.2).p_against == pytest.approx(1.0)
