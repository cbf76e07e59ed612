"""Intervals and verdicts against scipy.stats, published tables and their own rules."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from allmlp.report.deciding import Rule, on
from allmlp.report.multiplicity import at_least, combine, combined, holm, holm_adjusted, listed, whole
from allmlp.report.statistics import (
    NOT_TESTABLE,
    VERDICTS,
    Finding,
    Interval,
    Part,
    better,
    equal,
    near_printed,
    p_above,
    p_below,
    p_outside,
    prediction_interval,
    share_above,
    share_below,
    share_interval,
    t_interval,
    within_prediction,
)
from allmlp.studies.rules import above, below

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
    assert share_below(k, n, limit) == pytest.approx(stats.binomtest(k, n, limit, alternative="less").pvalue)
    assert share_above(k, n, limit) == pytest.approx(stats.binomtest(k, n, limit, alternative="greater").pvalue)


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
    ours, theirs = (within_prediction(x, 0.9, max_half_width=1) for x in (single, double))
    assert ours == theirs


@pytest.mark.parametrize(("margin", "verdict"), [(0.5, "reproduced"), (0.65, "undecided"), (0.9, "below margin")])
def test_better_is_where_the_interval_lies(margin, verdict):
    finding = better(SAMPLE, margin, unit="nats")
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
    found, mirrored = better(values, margin), below(-values, -margin, none=0.0)
    assert found.verdict == mirrored.verdict == verdict
    assert (found.p, found.p_against) == (mirrored.p, mirrored.p_against)
    assert better(values + 1, margin + 1, none=1.0).verdict == verdict  # a ratio, whose "no effect" is 1
    assert above(values, margin).verdict == {"below margin": "contradicted"}.get(verdict, verdict)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_fewer_than_five_seeds_decide_nothing(n):
    values = [1.0, 1.01, 0.99, 1.02][:n]
    findings = [better(values, 0), better(values, 9), equal(values, 2), equal(values, 0.1)]
    findings += [within_prediction(values, v, max_half_width=9) for v in (1, 50)]
    assert {finding.verdict for finding in findings} == {"undecided"}


def test_one_diverged_seed_is_not_dropped():
    values = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98, math.nan]
    for finding in (better(values, 0), equal(values, 2), within_prediction(values, 1, max_half_width=9)):
        assert (finding.verdict, finding.n) == ("undecided", 7)
        assert "diverged" in finding.text
    assert better(values, 0).p == 1.0


def test_seeds_that_agree_are_judged_by_the_sign_test_and_never_with_certainty():
    """Six of one value exclude at 95 % that it is below the median, five do not: 1 - 2^-5 = 97 %, 1 - 2^-4 = 94 %."""
    assert [better([1.0] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "reproduced"]
    assert [better([-0.4] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "contradicted"]
    assert [better([0.4] * n, 0.5).verdict for n in (5, 6)] == ["undecided", "below margin"]
    assert better([1.0] * 6, 0.5).p == better([0.4] * 6, 0.5).p_against == better([0.0] * 6, 0.5).p_against == 2**-6
    assert better([0.5] * 9, 0.5).verdict == "undecided"
    assert (better([0.5] * 9, 0.5).p, better([0.5] * 9, 0.5).p_against) == (1.0, 1.0)
    assert [equal([0.0] * 5, 0.1).verdict, equal([0.0] * 5, 0.1).p] == ["reproduced", 2**-5]
    assert [equal([0.2] * n, 0.1).verdict for n in (5, 6)] == ["undecided", "contradicted"]
    found = {n: within_prediction([0.5] * n, 0.6, max_half_width=1) for n in (38, 39)}
    assert [(one.verdict, one.p_against) for one in found.values()] == [("undecided", 2 / 39), ("contradicted", 0.05)]
    assert better([1.0] * 5, 0.5).text == "1 in each of 5 seeds (a verdict needs 6 that agree), against a margin of 0.5"


@given(st.floats(-3, 3), st.integers(2, 60), st.floats(0.01, 2))
def test_no_spread_gives_no_p_of_zero(value, n, margin):
    """Also where the seeds differ by rounding only, as means of equal numbers do."""
    for values in ([value] * n, [value] * (n - 1) + [float(np.nextafter(value, 9))]):
        found = [better(values, margin), equal(values, margin), within_prediction(values, margin, max_half_width=1)]
        found += [below(values, margin)]
        for p in [p for one in found for p in (one.p, one.p_against)]:
            assert p is None or p >= 2.0**-n


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.0, "reproduced"), (0.15, "undecided"), (0.5, "contradicted"), (-0.5, "contradicted")],
)
def test_equal_is_two_one_sided_tests(shift, verdict):
    x = np.array([0.02, -0.05, 0.04, -0.03, 0.01, 0.03]) + shift
    finding = equal(x, 0.15)
    assert finding.verdict == verdict
    below = stats.ttest_1samp(x, -0.15, alternative="greater").pvalue
    above = stats.ttest_1samp(x, 0.15, alternative="less").pvalue
    assert finding.p == pytest.approx(max(below, above))
    assert (finding.verdict == "reproduced") == (finding.p < 0.05)


def test_equal_needs_a_margin():
    for margin in (0, -1):
        with pytest.raises(ValueError, match=f"^a margin of equality must be positive, not {margin}$"):
            equal(SAMPLE, margin)


FEW = "(a verdict needs 5)"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            lambda: better(SAMPLE, 0.5, unit="nats"),
            "mean 0.68 nats, 95 % t interval 0.605 to 0.755, n = 8, against a margin of 0.5",
        ),
        (
            lambda: better(SAMPLE[:3], 0.5, 0.9),
            f"mean 0.633, 90 % t interval 0.47 to 0.797, n = 3 {FEW}, against a margin of 0.5",
        ),
        (lambda: better(SAMPLE[:5], 0.5), "mean 0.676, 95 % t interval 0.552 to 0.8, n = 5, against a margin of 0.5"),
        (
            lambda: better(SAMPLE[:1], 0.5, unit="nats"),
            f"0.61 nats, n = 1, which gives no interval {FEW}, against a margin of 0.5",
        ),
        (lambda: better([], 0.5), "no seed has this number, against a margin of 0.5"),
        (
            lambda: equal(SAMPLE, 0.7, unit="nats"),
            "mean 0.68 nats, 95 % t interval 0.605 to 0.755, n = 8 (90 % interval 0.62 to 0.74), "
            "against a margin of ±0.7",
        ),
        (
            lambda: equal(SAMPLE[:2], 0.7, 0.9),
            f"mean 0.675, 90 % t interval 0.265 to 1.09, n = 2 {FEW} (80 % interval 0.475 to 0.875), "
            "against a margin of ±0.7",
        ),
        (lambda: equal(SAMPLE[:1], 0.7), f"0.61, n = 1, which gives no interval {FEW}, against a margin of ±0.7"),
        (
            lambda: within_prediction(SAMPLE, 0.9, max_half_width=0.1, unit="bits"),
            "mean 0.68 bits, 95 % prediction interval 0.455 to 0.905, n = 8; the paper says 0.9 "
            "(half width above 0.1: too wide to tell)",
        ),
        (
            lambda: within_prediction(SAMPLE, 0.9, max_half_width=0.3, level=0.9),
            "mean 0.68, 90 % prediction interval 0.5 to 0.86, n = 8; the paper says 0.9",
        ),
        (
            lambda: within_prediction(SAMPLE, 9, max_half_width=0.1),
            "mean 0.68, 95 % prediction interval 0.455 to 0.905, n = 8; the paper says 9",
        ),
    ],
)
def test_a_finding_in_words(found, text):
    assert found().text == text


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_finding_holds_its_interval_and_the_basis_of_its_verdict(level):
    given = {"level": level, "unit": "nats"}
    found = better(SAMPLE, 0.6, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*t_interval(SAMPLE, level), "nats")
    assert found.rests == {"": on(Rule("better", 0.0, 0.6, level), SAMPLE)}
    found = equal(SAMPLE, 0.6, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*t_interval(SAMPLE, level), "nats")
    assert found.rests == {"": on(Rule("equal", -0.6, 0.6, level), SAMPLE)}
    found = within_prediction(SAMPLE, 0.6, max_half_width=0.3, rounding=0.25, **given)
    assert (found.value, found.low, found.high, found.n, found.unit) == (*prediction_interval(SAMPLE, level), "nats")
    assert found.rests == {"": on(Rule("prediction", 0.35, 0.85, level, 0.3), SAMPLE)}
    assert found.p is None


def test_the_ends_themselves_belong_to_an_interval_and_to_a_rounding():
    low, high = prediction_interval(SAMPLE)[1:3]
    wide = "too wide to tell"
    for value in (low, high):
        assert wide in within_prediction(SAMPLE, value, max_half_width=0.01).text
    half = prediction_interval(SAMPLE).half_width
    assert wide not in within_prediction(SAMPLE, 0.7, max_half_width=half).text
    assert wide in within_prediction(SAMPLE, 0.7, max_half_width=half * 0.999).text
    assert wide not in within_prediction(SAMPLE, high + 0.1, max_half_width=0.01, rounding=0.05).text
    assert wide not in within_prediction(SAMPLE, low - 0.1, max_half_width=0.01, rounding=0.05).text
    assert wide in within_prediction(SAMPLE, low - 0.1, max_half_width=0.01, rounding=0.15).text


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
        return within_prediction(values, paper, max_half_width=9, rounding=rounding).p_against

    x = np.array([0.4, 0.9])
    t = (2.0 - x.mean()) / (x.std(ddof=1) * math.sqrt(1.5))
    assert p(x, 2.0) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p(x, -0.7) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p(x, 2.5, rounding=0.5) == pytest.approx(2 * stats.t.sf(t, 1))
    assert p([0.4], 2.0) == p([0.1, 0.2, math.inf], 2.0) == 1.0
    assert (p([0.5] * 5, 0.5), p([0.5] * 5, 0.5001), p([0.5] * 5, 0.75, rounding=0.25)) == (1.0, 1 / 3, 1.0)


def test_a_paper_value_lies_inside_outside_or_in_an_interval_too_wide_to_tell():
    low, high = prediction_interval(SAMPLE)[1:3]
    assert within_prediction(SAMPLE, high - 1e-9, max_half_width=1).verdict == "reproduced"
    assert within_prediction(SAMPLE, high - 1e-9, max_half_width=0.1).verdict == "undecided"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=1).verdict == "contradicted"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=0.1).verdict == "contradicted"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=1, rounding=0.005).verdict == "reproduced"


def test_the_unit_is_the_run():
    with pytest.raises(ValueError, match=r"^one value per seed, not shape \(5, 2\)$"):
        t_interval(np.ones((5, 2)))


def test_holm_agrees_with_the_published_example():
    # p = 0.01, 0.02, 0.03, 0.04 of R's p.adjust(method = "holm"): 0.04, 0.06, 0.06, 0.06
    adjusted = holm_adjusted({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03})
    assert list(adjusted) == ["d", "b", "a", "c"]
    assert list(adjusted.values()) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert holm({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03}) == dict.fromkeys("dbc", False) | {"a": True}
    assert holm({}) == {}
    assert holm_adjusted({"a": 0.9, "b": 1.0}) == {"a": 1.0, "b": 1.0}
    assert holm({"a": 0.05}) == {"a": True}
    assert holm({"a": 0.08}) == {"a": False}
    assert holm({"a": 0.08}, level=0.1) == {"a": True}
    assert holm_adjusted({"a": 0.0, "b": 1.0}) == {"a": 0.0, "b": 1.0}
    for wrong in (math.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match=f"^001-4: {wrong} is not a p value$"):
            holm({"001-4": wrong})


def test_combined_of_no_part_is_undecided_and_a_list_says_each():
    assert combined([]) == "undecided"
    assert combined(iter([Part("a", "reproduced"), Part("b", NOT_TESTABLE)])) == "partly"
    assert combined([Part("a", "contradicted"), Part("b", NOT_TESTABLE)]) == "contradicted"
    assert listed([Part("a", "reproduced"), Part("b", NOT_TESTABLE)]) == f"a: reproduced; b: {NOT_TESTABLE}"


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "contradicted"], "partly"),
        (["reproduced", "undecided"], "partly"),
        (["partly", "undecided"], "partly"),
        (["contradicted", "contradicted"], "contradicted"),
        (["contradicted", "undecided"], "contradicted"),
        (["undecided"], "undecided"),
        (["below margin", "below margin"], "below margin"),
        (["below margin", "undecided"], "undecided"),
        (["below margin", "contradicted"], "contradicted"),
        (["below margin", "reproduced"], "partly"),
        ([], "undecided"),
    ],
)
def test_parts_combine(verdicts, expected):
    assert combine([Part(str(i), verdict) for i, verdict in enumerate(verdicts)]) == expected


def test_a_whole_names_its_parts_and_takes_their_worst_p():
    finding = whole({"softmax": better(SAMPLE, 0.5), "linear": better(SAMPLE, 0.65)})
    assert (finding.verdict, finding.value, finding.n) == ("partly", 1.0, 8)
    assert finding.text == "softmax: reproduced; linear: undecided"
    assert finding.p == better(SAMPLE, 0.65).p
    assert [part.p for part in finding.parts] == [better(SAMPLE, 0.5).p, better(SAMPLE, 0.65).p]
    assert [part.p_against for part in finding.parts] == [better(SAMPLE, 0.5).p_against, better(SAMPLE, 0.65).p_against]
    assert [(part.name, part.text) for part in finding.parts] == [
        ("softmax", better(SAMPLE, 0.5).text),
        ("linear", better(SAMPLE, 0.65).text),
    ]
    assert finding.unit == "of 2 parts"
    assert math.isnan(finding.low)
    assert math.isnan(finding.high)
    assert finding.rests == {"softmax": better(SAMPLE, 0.5).rests[""], "linear": better(SAMPLE, 0.65).rests[""]}
    nested = whole({"both": finding, "one": better(SAMPLE[:5], 0.5)})
    assert (nested.n, list(nested.rests)) == (5, ["one"])
    nothing = whole({})
    assert (nothing.verdict, nothing.value, nothing.n, nothing.text) == ("undecided", 0.0, 0, "no part")
    assert (nothing.p, nothing.parts, nothing.rests) == (None, (), {})
    assert whole({"a": better(SAMPLE, 0.5), "b": within_prediction(SAMPLE, 0.7, max_half_width=1)}).p is None


def test_a_misspelt_verdict_fails_at_once():
    with pytest.raises(ValueError, match=f"^verdict 'proven': choose one of {', '.join(VERDICTS)}$"):
        Finding("proven", 0, 0, 0, 5, "", "")


@given(st.lists(st.sampled_from([*VERDICTS, NOT_TESTABLE]), min_size=1, max_size=6))
def test_untestable_parts_never_help_a_claim(verdicts):
    parts = [Part(str(i), verdict) for i, verdict in enumerate(verdicts)]
    testable = [part for part in parts if part.verdict != NOT_TESTABLE]
    found = combined(parts)
    if not testable:
        assert found == NOT_TESTABLE
    elif len(testable) == len(parts):
        assert found == combine(parts)
    else:
        assert found != "reproduced"
        assert found == combine(testable) or (found, combine(testable)) == ("partly", "reproduced")


SAMPLES = st.lists(st.floats(-3, 3), min_size=5, max_size=9).filter(lambda x: np.std(x) > 0.01)


@given(SAMPLES, st.floats(0.01, 2))
def test_each_verdict_has_its_test_below_the_level(values, margin):
    """`better` and the prediction interval exactly where their interval says so, `equal` in both directions."""
    found = above(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.025)
    assert (found.verdict == "contradicted") == (found.p_against < 0.025)
    assert found.p + found.p_against == pytest.approx(1)
    found = better(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.025)
    assert (found.verdict in ("contradicted", "below margin")) == (found.p_against < 0.025)
    near = near_printed(values, margin, distance=0.5)
    assert (near.verdict == "reproduced") == (near.p < 0.05 <= near.p_against)
    assert (near.verdict == "contradicted") == (near.p_against < 0.05)
    found = equal(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.05)
    assert (found.verdict == "contradicted") == (found.p_against < 0.05)
    found = within_prediction(values, margin, max_half_width=9, rounding=0.1)
    assert (found.verdict == "contradicted") == (found.p_against < 0.05)


def test_the_p_of_a_printed_number_is_that_of_one_more_seed():
    x = np.array(SAMPLE)
    t = (0.9 - x.mean()) / (x.std(ddof=1) * math.sqrt(1 + 1 / len(x)))
    assert within_prediction(x, 0.9, max_half_width=9).p_against == pytest.approx(2 * stats.t.sf(t, len(x) - 1))
    assert within_prediction(x, x.mean() + 0.1, max_half_width=9, rounding=0.2).p_against == pytest.approx(1.0)


@pytest.mark.parametrize(("needed", "expected"), [(1, 0.03), (2, 0.04), (3, 0.3), (4, None)])
def test_at_least_so_many_of_several(needed, expected):
    assert at_least([0.3, None, 0.01, 0.02], needed) == (expected and pytest.approx(expected))
    assert at_least([0.9, 0.8, 0.7]) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_at_least_one_is_bonferroni_and_all_the_largest(p_values):
    assert at_least(p_values) == min(1.0, len(p_values) * min(p_values))
    assert at_least(p_values, len(p_values)) == max(p_values)
