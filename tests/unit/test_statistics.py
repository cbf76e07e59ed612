"""Intervals and verdicts against scipy.stats, published tables and their own rules."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from allmlp.report.multiplicity import at_least, combine, combined, holm, holm_adjusted, whole
from allmlp.report.statistics import (
    NOT_TESTABLE,
    VERDICTS,
    Finding,
    Part,
    better,
    equal,
    prediction_interval,
    share_interval,
    t_interval,
    within_prediction,
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
    assert share_interval(k, n)[1:3] == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_share_of_nothing_and_nonsense():
    assert share_interval(0, 0)[1:] == (0.0, 1.0, 0)
    with pytest.raises(ValueError, match="6 of 5"):
        share_interval(6, 5)


@pytest.mark.parametrize(("margin", "verdict"), [(0.5, "reproduced"), (0.65, "undecided"), (0.9, "contradicted")])
def test_better_is_where_the_interval_lies(margin, verdict):
    finding = better(SAMPLE, margin, unit="nats")
    assert finding.verdict == verdict
    assert finding.p == pytest.approx(stats.ttest_1samp(SAMPLE, margin, alternative="greater").pvalue)
    assert (finding.low, finding.high) == t_interval(SAMPLE)[1:3]
    for piece in ("nats", f"{finding.value:.3g}", f"{margin:g}", "n = 8"):
        assert piece in finding.text


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


def test_seeds_that_agree_to_the_bit_decide():
    assert (better([1.0] * 5, 0.5).verdict, better([1.0] * 5, 0.5).p) == ("reproduced", 0.0)
    assert (better([0.5] * 5, 0.5).verdict, better([0.5] * 5, 0.5).p) == ("undecided", 1.0)
    assert equal([0.0] * 5, 0.1).verdict == "reproduced"


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
    with pytest.raises(ValueError, match="positive, not 0"):
        equal(SAMPLE, 0)


def test_a_paper_value_lies_inside_outside_or_in_an_interval_too_wide_to_tell():
    low, high = prediction_interval(SAMPLE)[1:3]
    assert within_prediction(SAMPLE, high - 1e-9, max_half_width=1).verdict == "reproduced"
    assert within_prediction(SAMPLE, high - 1e-9, max_half_width=0.1).verdict == "undecided"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=1).verdict == "contradicted"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=0.1).verdict == "contradicted"
    assert within_prediction(SAMPLE, low - 0.004, max_half_width=1, rounding=0.005).verdict == "reproduced"


def test_the_unit_is_the_run():
    with pytest.raises(ValueError, match="one value per seed"):
        t_interval(np.ones((5, 2)))


def test_holm_agrees_with_the_published_example():
    # p = 0.01, 0.02, 0.03, 0.04 of R's p.adjust(method = "holm"): 0.04, 0.06, 0.06, 0.06
    adjusted = holm_adjusted({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03})
    assert list(adjusted) == ["d", "b", "a", "c"]
    assert list(adjusted.values()) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert holm({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03}) == dict.fromkeys("dbc", False) | {"a": True}
    assert holm({}) == {}
    assert holm_adjusted({"a": 0.9, "b": 1.0}) == {"a": 1.0, "b": 1.0}
    with pytest.raises(ValueError, match="001-4: nan"):
        holm({"001-4": math.nan})


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
    assert whole({"a": better(SAMPLE, 0.5), "b": within_prediction(SAMPLE, 0.7, max_half_width=1)}).p is None


def test_a_misspelt_verdict_fails_at_once():
    with pytest.raises(ValueError, match="'proven': choose one of reproduced, partly"):
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
    found = better(values, margin)
    assert (found.verdict == "reproduced") == (found.p < 0.025)
    assert (found.verdict == "contradicted") == (found.p_against < 0.025)
    assert found.p + found.p_against == pytest.approx(1)
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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_at_least_one_is_bonferroni_and_all_the_largest(p_values):
    assert at_least(p_values) == min(1.0, len(p_values) * min(p_values))
    assert at_least(p_values, len(p_values)) == max(p_values)
