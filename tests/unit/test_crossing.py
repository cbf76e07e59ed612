"""Where the lead changes hands: places, intervals and their coverage, seeds that cross elsewhere, and the rule."""

import math

import numpy as np
import pytest

from allmlp.studies.shared.crossing import Course, Curve, Curves, compare
from allmlp.studies.shared.crossing_rule import judge_lead_change

DECADES = np.linspace(11.0, 13.0, 9)  # log10 of the operations after which losses are known


def curves(losses: np.ndarray, decades: np.ndarray = DECADES) -> Curves:
    """losses: (seeds, points)."""
    return {seed: Curve(10**decades, of_seed) for seed, of_seed in enumerate(losses)}


def course(differences: np.ndarray, decades: np.ndarray = DECADES) -> Course:
    """Of a second model whose loss is the first's and these differences: (seeds, points)."""
    first = 5 - 0.4 * (decades - 11) + np.zeros_like(differences)
    return compare(curves(first, decades), curves(first + differences, decades))


def lines(places: list[float], slope: float = 0.5) -> np.ndarray:
    """Differences that fall through 0 at a place of each seed's own, in decades."""
    return slope * (np.array(places)[:, None] - DECADES)


AROUND = [11.9, 11.95, 12.0, 12.05, 12.1]


def test_a_crossing_is_where_the_mean_difference_is_zero() -> None:
    (crossing,) = course(lines(AROUND)).crossings
    assert math.log10(crossing.at) == pytest.approx(12.0)
    assert crossing.leader == -1
    half = 2.776445 * np.std(AROUND, ddof=1) / math.sqrt(5)  # parallel lines: the interval of the places themselves
    assert np.log10([crossing.low, crossing.high]) == pytest.approx([12 - half, 12 + half], abs=1e-4)


def test_the_leaders_exchanged_give_the_same_place() -> None:
    there, back = (course(sign * lines(AROUND)).crossings[0] for sign in (1, -1))
    assert there[:3] == pytest.approx(back[:3])
    assert there.leader == -back.leader


def test_how_densely_a_curve_is_logged_changes_nothing() -> None:
    dense = np.sort(np.concatenate([DECADES, np.linspace(11, 11.5, 200)]))
    finer = np.array([np.interp(dense, DECADES, line) for line in lines(AROUND)])
    assert course(finer, dense).crossings[0][:3] == pytest.approx(course(lines(AROUND)).crossings[0][:3], rel=1e-3)


def test_between_points_a_curve_is_read_over_the_logarithm_and_beyond_its_ends_not() -> None:
    curve = Curve(np.array([1e10, 1e12]), np.array([4.0, 3.0]))
    assert curve.loss_at([1e9, 1e10, 1e11, 1e12, 1e13]) == pytest.approx(
        [math.nan, 4.0, 3.5, 3.0, math.nan], nan_ok=True
    )
    short = {seed: Curve(10 ** DECADES[2:6], np.arange(4.0, 0.0, -1)) for seed in range(5)}
    found = compare(curves(lines(AROUND)), short)
    assert (found.operations[0], found.operations[-1]) == pytest.approx((10 ** DECADES[2], 10 ** DECADES[5]))
    assert np.isfinite(found.values).all()
    with pytest.raises(ValueError, match="share no range"):
        compare({0: Curve(10 ** DECADES[:2], np.ones(2))}, {0: Curve(10 ** DECADES[5:], np.ones(4))})
    with pytest.raises(ValueError, match="no seed in common"):
        compare({0: curve}, {1: curve})


def test_a_seed_that_crosses_beyond_the_range_is_counted_and_not_dropped() -> None:
    found = course(lines([11.9, 11.95, 12.0, 12.05, 13.1]))
    assert found.seed_crossings == pytest.approx({0: 10**11.9, 1: 10**11.95, 2: 1e12, 3: 10**12.05, 4: math.inf})
    (crossing,) = found.crossings
    assert math.log10(crossing.at) == pytest.approx(np.mean([11.9, 11.95, 12.0, 12.05, 13.1])), "the mean of all five"
    assert course(lines([10.95, 11.9, 12.0, 12.05, 12.1])).seed_crossings[0] == 0.0


def test_no_crossing_where_one_leads_everywhere_or_none_is_shown_to_lead() -> None:
    one_side = course(lines([13.5, 13.6, 13.7, 13.8, 13.9]))
    assert one_side.crossings == ()
    assert set(one_side.seed_crossings.values()) == {math.inf}
    assert course(np.array([1.0, -1.0, 0.5, -0.5, 0.0])[:, None] + lines(AROUND, 0.01)).crossings == ()
    assert course(lines([11.9])).crossings == (), "one seed shows nothing"


def test_several_crossings_are_all_found_in_order() -> None:
    waves = np.sin((DECADES - 11) * 1.5 * np.pi) + 0.01 * np.arange(5)[:, None]
    found = course(waves).crossings
    assert [crossing.leader for crossing in found] == [-1, 1]
    assert np.log10([crossing.at for crossing in found]) == pytest.approx([11 + 2 / 3, 11 + 4 / 3], abs=0.05)
    ends = [end for crossing in found for end in (crossing.low, crossing.at, crossing.high)]
    assert ends == sorted(ends)


def test_a_diverged_seed_decides_nothing() -> None:
    differences = lines(AROUND)
    differences[2] = np.nan
    assert course(differences).crossings == ()
    assert math.isnan(course(differences).seed_crossings[2])


@pytest.mark.parametrize("place", [12.0, 12.9])  # in the middle, and so near the end that many seeds do not cross
def test_an_interval_misses_the_place_in_one_of_twenty_cases(place: float) -> None:
    """The expected difference is curved, seeds differ in its height and slope, and each point has noise of its own."""
    rng, trials, missed, located = np.random.default_rng(0), 1000, 0, 0
    expected = np.tanh(place - DECADES)
    for _ in range(trials):
        height, slope = rng.normal(0, 0.15, (5, 1)), rng.normal(1, 0.1, (5, 1))
        found = course(slope * expected + height + rng.normal(0, 0.03, (5, len(DECADES)))).crossings
        located += len(found) == 1
        missed += any(not one.low <= 10**place <= one.high for one in found)
    assert 0.01 < missed / trials < 0.065 if place == 12.0 else missed / trials < 0.065
    assert located > 0.99 * trials if place == 12.0 else located < 0.6 * trials


RULE = {"margin": 0.02, "factor": 4.0}


def test_the_rule_is_about_both_ends_and_the_place() -> None:
    found = judge_lead_change(course(lines(AROUND)), "the mixer", "the Llama", **RULE)
    assert found.verdict == "reproduced"
    assert found.value == pytest.approx(1000.0)
    assert found.unit == "billion operations"
    assert found.text.startswith("the Llama takes the lead at 1,000 billion operations, 95 % interval ")
    assert "5 of 5 seeds cross within the measured range" in found.text
    assert found.p is not None
    assert found.p < 0.01
    other_way = judge_lead_change(course(-lines(AROUND)), "the mixer", "the Llama", **RULE)
    assert (other_way.verdict, other_way.text[:9]) == ("contradicted", "the mixer")


def test_the_rule_is_refuted_where_one_leads_at_both_ends() -> None:
    found = judge_lead_change(course(lines([13.5, 13.6, 13.7, 13.8, 13.9])), "the mixer", "the Llama", **RULE)
    assert found.verdict == "contradicted"
    assert math.isnan(found.value), "no place"
    assert found.p_against is not None
    assert found.p_against < 0.01


def test_the_rule_needs_one_crossing_at_a_place() -> None:
    wide = [11.5, 11.7, 12.0, 12.3, 12.5]
    found = judge_lead_change(course(lines(wide, slope=5)), "the mixer", "the Llama", **RULE)
    assert (found.verdict, "a factor 4 apart" in found.text) == ("undecided", True)
    waves = np.cos((DECADES - 11) * 1.5 * np.pi) + 0.01 * np.arange(5)[:, None] - 0.2
    found = judge_lead_change(course(waves), "the mixer", "the Llama", **RULE)
    assert "change" in found.text
    assert found.verdict != "reproduced"
    seeds = judge_lead_change(course(lines([*AROUND[:4], 13.1])), "the mixer", "the Llama", **RULE)
    assert "4 of 5 seeds cross within the measured range, 1 beyond it" in seeds.text
