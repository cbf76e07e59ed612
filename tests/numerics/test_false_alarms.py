"""How often the verdicts are wrong where nothing is to be found, by simulation with fixed seeds.

Each rate is held against its nominal value within four standard errors of its own simulation.
"""

import math

import numpy as np
import pytest

from allmlp.judging import correction, judge
from allmlp.judging.correction import holm
from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_all
from allmlp.judging.statistics import (
    judge_better,
    judge_equal,
    judge_prediction,
    prediction_interval,
    share_interval,
    t_interval,
)

STUDIES = 4000


def draws(n: int, *, seed: int = 0, studies: int = STUDIES) -> np.ndarray:
    """(studies, n) independent standard normal values: one row per imagined study of n seeds."""
    return np.random.Generator(np.random.Philox(key=[seed, n])).standard_normal((studies, n))


def slack(rate: float, studies: int = STUDIES) -> float:
    return 4 * math.sqrt(rate * (1 - rate) / studies)


@pytest.mark.parametrize("n", [5, 8, 20])
def test_better_is_a_false_verdict_in_one_case_of_forty(n):
    margin = 0.3
    findings = [judge_better(row + margin, margin) for row in draws(n)]
    said = np.mean([finding.verdict == "reproduced" for finding in findings])
    assert said == pytest.approx(0.025, abs=slack(0.025))
    denied = np.mean([finding.verdict in ("below margin", "contradicted") for finding in findings])
    assert denied <= 0.025 + slack(0.025), "the two that deny the margin share one chance"
    p_values = np.array([finding.p for finding in findings])
    assert np.mean(p_values <= 0.05) == pytest.approx(0.05, abs=slack(0.05))


@pytest.mark.parametrize("n", [5, 8, 20])
def test_no_effect_is_called_a_direction_in_one_case_of_forty_at_most(n):
    findings = [judge_better(row, 0.3) for row in draws(n)]
    said = np.mean([finding.verdict in ("below margin", "reproduced") for finding in findings])
    assert said <= 0.025 + slack(0.025)


@pytest.mark.parametrize(("n", "expected"), [(3, 0.25), (5, 0.16)])
def test_the_percentile_bootstrap_says_it_in_one_case_of_four_or_six(n, expected):
    """Why it is not used: its 95 % interval of the mean excludes the true mean this often."""
    rows = draws(n)
    resampled = np.random.default_rng(1).multinomial(n, [1 / n] * n, size=2000) / n
    low, high = np.percentile(rows @ resampled.T, [2.5, 97.5], axis=1)
    assert np.mean((low > 0) | (high < 0)) == pytest.approx(expected, abs=0.03)
    intervals = np.array([t_interval(row) for row in rows])
    assert np.mean((intervals[:, 1] > 0) | (intervals[:, 2] < 0)) == pytest.approx(0.05, abs=slack(0.05))


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("n", [5, 8, 20])
def test_equal_is_a_false_verdict_in_one_case_of_twenty(n, side):
    """A true difference at the margin itself: the worst case."""
    margin = 5.0  # wide against the spread, so that the test is not protected by having no power
    findings = [judge_equal(row + side * margin, margin) for row in draws(n)]
    said = np.mean([finding.verdict == "reproduced" for finding in findings])
    assert said == pytest.approx(0.05, abs=slack(0.05))
    denied = np.mean([finding.verdict == "contradicted" for finding in findings])
    assert denied == pytest.approx(0.025, abs=slack(0.025))


def test_seeds_without_power_are_not_called_equal():
    """No evidence of a difference is no evidence of equality: a margin far inside the noise."""
    said = np.mean([judge_equal(row, 0.2).verdict == "reproduced" for row in draws(5)])
    assert said < 0.01


@pytest.mark.parametrize("n", [2, 5, 8, 20])
def test_the_prediction_interval_holds_the_next_seed(n):
    rows = draws(n + 1)
    intervals = np.array([prediction_interval(row[:-1]) for row in rows])
    inside = (intervals[:, 1] <= rows[:, -1]) & (rows[:, -1] <= intervals[:, 2])
    assert inside.mean() == pytest.approx(0.95, abs=slack(0.95))


def test_a_fair_paper_value_is_contradicted_in_one_case_of_twenty():
    verdicts = [judge_prediction(row[:-1], row[-1], max_half_width=10).verdict for row in draws(9)]
    assert np.mean([verdict == "contradicted" for verdict in verdicts]) == pytest.approx(0.05, abs=slack(0.05))


def test_a_confidence_interval_of_twenty_seeds_misses_two_fair_values_of_three():
    """Why a paper's single number is held against a prediction interval."""
    rows = draws(21)
    intervals = np.array([t_interval(row[:-1]) for row in rows])
    outside = (intervals[:, 1] > rows[:, -1]) | (rows[:, -1] > intervals[:, 2])
    assert outside.mean() == pytest.approx(0.66, abs=0.03)


@pytest.mark.parametrize("real", [0, 3])
def test_holm_keeps_the_false_alarms_of_a_whole_study_at_five_percent(real):
    """Ten claims, `real` of them true and easy to see, the others at their margin."""
    studies, claims = 1500, 10
    rows = draws(8 * claims, studies=studies).reshape(studies, claims, 8)
    rows[:, :real] += 5
    false_alarm, uncorrected = 0, 0
    for study in rows:
        p_values = {str(i): judge_better(row, 0).p for i, row in enumerate(study)}
        rejected = holm(p_values)
        assert all(rejected[str(i)] for i in range(real))
        false_alarm += any(rejected[str(i)] for i in range(real, claims))
        uncorrected += any(p_values[str(i)] <= 0.05 for i in range(real, claims))
    assert false_alarm / studies <= 0.05 + slack(0.05, studies)
    assert uncorrected / studies > 0.25


def test_parts_of_claims_have_a_false_verdict_in_one_study_of_twenty():
    """Five claims of three parts each, all at their margin: "partly" is a false alarm too."""
    studies, claims, parts = 1000, 5, 3
    before, after = 0, 0
    for study in draws(8 * claims * parts, studies=studies).reshape(studies, claims, parts, 8):
        found = [require_all_parts({str(i): judge_better(row, 0) for i, row in enumerate(claim)}) for claim in study]
        entries = [{"id": str(i), "scale": "", "at": {}, **judge._finding(one)} for i, one in enumerate(found)]
        before += any(entry["verdict"] in ("reproduced", "partly") for entry in entries)
        correction.correct(entries)
        after += any(entry["verdict"] in ("reproduced", "partly") for entry in entries)
    assert before / studies > 0.25
    assert after / studies <= 0.05 + slack(0.05, studies)


@pytest.mark.parametrize("n", [5, 8])
def test_a_lead_over_each_of_several_is_denied_in_one_study_of_twenty_where_it_is_there(n):
    """Five others, each behind by a little more than the margin. The best of them in each seed, as one number, denies
    it in most studies, because it is chosen by noise."""
    others, margin, studies = 5, 0.1, 1000
    studied = draws(n * others, studies=studies).reshape(studies, others, n) + 0.15
    found = [judge_all({str(i): judge_better(row, margin) for i, row in enumerate(study)}) for study in studied]
    denied = [one.verdict in ("contradicted", "below margin") and one.p_against <= 0.05 for one in found]
    assert np.mean(denied) <= 0.05 + slack(0.05, studies)
    smallest = [judge_better(study.min(axis=0), margin) for study in studied]
    assert np.mean([one.verdict == "contradicted" for one in smallest]) > 0.5
    none = [judge_all({str(i): judge_better(row, margin) for i, row in enumerate(study - 0.15)}) for study in studied]
    assert np.mean([one.verdict == "reproduced" for one in none]) <= 0.025 + slack(0.025, studies)


@pytest.mark.parametrize("n", [5, 8, 20])
def test_clopper_pearson_covers_every_share(n):
    """Exact coverage, summed over the binomial distribution, at 99 shares."""
    share = np.arange(1, 100) / 100
    covered = np.zeros_like(share)
    for k in range(n + 1):
        interval = share_interval(k, n)
        chance = math.comb(n, k) * share**k * (1 - share) ** (n - k)
        covered += chance * ((interval.low <= share) & (share <= interval.high))
    assert covered.min() >= 0.95
