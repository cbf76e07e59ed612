"""The chance that a rule decides: against closed forms, where it cannot, and the same each time."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from allmlp.judging import claims_json, planned_power
from allmlp.judging.evidence_summary import CONTRADICTED, KINDS, REPRODUCED, Basis, Grounds, Rule, join_verdicts
from allmlp.judging.power import (
    DRAWS,
    MOST,
    Thresholds,
    advice,
    chance,
    decide,
    effects,
    futility_reason,
    required_seeds,
)
from allmlp.judging.power import _draw_values as drawn_values
from allmlp.judging.rules import judge_above, judge_all, judge_below, withhold_verdict
from allmlp.judging.statistics import DECIDED, judge_better, judge_equal, judge_near_printed, judge_prediction

NOISE = 4 * math.sqrt(0.25 / DRAWS)  # four standard errors of a simulated chance


def rests(kind: Any, low: float, high: float, spread: float, n: int = 5, limit: float = math.inf) -> Grounds:
    return Grounds((Basis(Rule(kind, low, high, limit=limit), 0.0, spread, n),))


@pytest.mark.parametrize("n", [5, 8, 20])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_better_has_the_power_of_a_one_sample_t_test(n: int, spread: float) -> None:
    margin = 0.5
    true, untrue = effects(Rule("better", margin, margin), spread)  # a limit
    assert effects(Rule("better", 0.0, margin), spread) == (1.0, 0.0)
    assert (true, untrue) == (1.0, 0.0)
    off_centre = (true - margin) / spread * math.sqrt(n)
    power = stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, off_centre)
    for side in (True, False):  # as far from the margin on either side
        assert chance(rests("better", margin, margin, spread), n, true=side) == pytest.approx(power, abs=NOISE)
        mirrored = rests("below", margin, margin, spread)
        assert chance(mirrored, n, true=side) == pytest.approx(power, abs=NOISE)


@pytest.mark.parametrize(("n", "spread"), [(5, 0.5), (10, 1.0), (20, 1.0)])
def test_equality_has_the_power_of_two_one_sided_tests_at_no_difference(n: int, spread: float) -> None:
    margin, t = 1.0, stats.t.ppf(0.95, n - 1)

    def inside(variance: float) -> float:  # of the mean, given the sample's variance over the true one
        room = margin - t * spread * math.sqrt(variance / n)
        return max(0.0, 2 * stats.norm.cdf(room / spread * math.sqrt(n)) - 1)

    degrees = n - 1
    power, _ = integrate.quad(lambda v: inside(v) * stats.chi2.pdf(v * degrees, degrees) * degrees, 0, 20)
    assert chance(rests("equal", -margin, margin, spread), n, true=True) == pytest.approx(power, abs=NOISE)


@pytest.mark.parametrize("n", [5, 40])
def test_one_more_draw_lies_in_its_prediction_interval_as_often_as_that_says(n: int) -> None:
    assert chance(rests("prediction", 3.0, 3.0, 1.0), n, true=True) == pytest.approx(0.95, abs=NOISE / 2)


def test_a_prediction_interval_wider_than_its_limit_cannot_decide_at_any_n() -> None:
    wide = rests("prediction", 3.0, 3.0, spread=1.0, limit=1.5)
    assert chance(wide, MOST, true=True) < 0.01
    assert required_seeds(wide, true=True) is None
    assert advice(wide, true=True).words.startswith("cannot decide at any n: one seed's spread alone is ±1.96")
    assert advice(rests("prediction", 3.0, 3.0, spread=1.0, limit=2.2), true=True).words.startswith("needs more seeds")


def test_a_rule_that_asks_for_a_typical_number_decides_at_any_spread() -> None:
    near = rests("near", 3.0, 3.0, spread=1.0, limit=1.5)
    assert futility_reason(rests("prediction", 3.0, 3.0, spread=1.0, limit=1.5)).startswith("one seed's spread")
    assert futility_reason(near) == ""
    assert chance(near, MOST, true=True) > 0.8


def test_a_part_that_no_number_of_seeds_can_reproduce_says_so() -> None:
    """Of all ledgers, by the committed verdicts and spreads."""
    parts = {
        ", ".join(filter(None, [entry["id"], part["name"]])): part
        for entry in claims_json.read()["claims"]
        for part in entry.get("parts") or [{**entry, "name": ""}]
    }
    silent = [
        name
        for name in planned_power.hopeless_parts()
        if parts[name]["verdict"] != "contradicted" and "however many seeds" not in parts[name]["text"]
    ]
    assert silent == []


def test_none_of_five_leaves_a_share_of_half_open_and_none_of_six_does_not() -> None:
    fails = rests("few", 0.5, 0.5, spread=0.0)  # the upper end is 0.52 of five
    assert [chance(fails, n, true=True) for n in (5, 6)] == [0.0, 1.0]
    assert advice(fails, true=True) == (6, False, "needs more seeds: 6 for 80%")


def test_fewer_than_five_seeds_decide_nothing() -> None:
    assert chance(rests("better", 1.0, 1.0, spread=1e-3), 4, true=True) == 0.0


def test_the_seeds_that_are_asked_for_suffice_and_one_less_does_not() -> None:
    noisy = rests("better", 0.5, 0.5, spread=0.6)
    enough = required_seeds(noisy, true=True)
    assert enough is not None
    assert chance(noisy, enough, true=True) >= 0.8 > chance(noisy, enough - 1, true=True)


def test_numbers_of_one_part_are_drawn_apart_and_all_must_hold() -> None:
    one = rests("better", 0.5, 0.5, spread=0.5)
    two = Grounds(one.of * 2)
    assert chance(two, 8, true=True) == pytest.approx(chance(one, 8, true=True) ** 2, abs=NOISE)
    tolerant = Grounds(one.of * 3, tolerated=0, refuting=2)
    assert chance(tolerant, 8, true=False) < chance(Grounds(one.of * 3), 8, true=False)


RULES: dict[str, Any] = {  # kind -> the finding of values, and the rule that it rests on
    "better": (lambda values: judge_better(values, 0.5), rests("better", 0.0, 0.5, 0.4)),
    "below": (lambda values: judge_below(values, -0.5, none=0.0), rests("below", -0.5, 0.0, 0.4)),
    "equal": (lambda values: judge_equal(values, 0.5), rests("equal", -0.5, 0.5, 0.3)),
    "near": (lambda values: judge_near_printed(values, 1.0, distance=0.8), rests("near", 1.0, 1.0, 0.5, limit=0.8)),
}


@pytest.mark.parametrize("true", [True, False])
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("numbers", [1, 2])
def test_a_right_verdict_counts_if_its_p_survives_the_correction(kind: str, numbers: int, true: bool) -> None:
    """Against the p values of the findings themselves, draw by draw."""
    judge, one = RULES[kind]
    together, largest, n, draws = Grounds(one.of * numbers), 0.004, 7, 400
    given = [drawn_values(basis, place, n, true, None) for place, basis in enumerate(together.of)]
    found = [judge_all({str(place): judge(rows[row]) for place, rows in enumerate(given)}) for row in range(draws)]
    said, name = ("reproduced", "p") if true else ("contradicted", "p_against")
    survive = np.array([one.verdict == said and getattr(one, name) <= largest for one in found])
    assert 0 < survive.sum() < sum(one.verdict == said for one in found)
    kept = decide(together, given, largest, true=true) == (REPRODUCED if true else CONTRADICTED)
    assert kept[:draws].tolist() == survive.tolist()
    assert chance(together, n, true=true, largest=Thresholds(largest, largest)) == kept.mean()


def test_the_claims_own_effect_takes_the_place_of_twice_the_margin() -> None:
    share = rests("better", 0.9, 0.9, spread=0.02)
    assert effects(share.of[0].rule, 0.02, claimed=0.95) == (0.95, pytest.approx(0.85))
    assert chance(share, 5, true=True, claimed=0.91) < chance(share, 5, true=True, claimed=0.95)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_judges_thousands_of_rows_as_it_judges_one(kind: Any) -> None:
    rng = np.random.default_rng(1)
    around = np.linspace(-1.5, 1.5, 200)[:, None] + 0.3 * rng.normal(size=(200, 7))
    rows = (around > 0).astype(float) if kind in ("all", "few") else around
    rule = Rule(kind, -0.4, 0.4, limit=2.5)
    decided = rule.decide(rows)
    assert decided.tolist() == [int(rule.decide(row)) for row in rows]
    assert len(set(decided.tolist())) > 1


def test_what_a_finding_rests_on_gives_its_verdict_again() -> None:
    values = [0.9, 1.1, 1.0, 0.8, 1.2]
    found = [
        judge_better(values, 0.5),
        judge_above(values, 2.0),
        judge_below(values, 2.0),
        judge_equal(values, 0.1),
        judge_better(values, 2.0),
    ]
    found += [judge_prediction(values, 1.1, max_half_width=1.0), judge_prediction(values, 9.0, max_half_width=1.0)]
    found += [judge_near_printed(values, 1.1, distance=1.0)]
    signs = {verdict: sign for sign, verdict in DECIDED.items()}
    for finding in found:
        on = finding.rests[""]
        assert int(on.decide([values])) == signs[finding.verdict]
        assert (on.of[0].mean, on.of[0].n) == (pytest.approx(1.0), 5)
        assert Grounds.read(json.loads(json.dumps(on.to_dict()))).decide([values]) == on.decide([values])
    both = judge_all({"a": found[0], "b": found[1]}).rests[""]
    assert both.of == (*found[0].rests[""].of, *found[1].rests[""].of)
    kept = withhold_verdict(found[0], "reproduced", "too early", when=True)
    assert kept.rests[""].of == found[0].rests[""].of
    assert kept.rests[""].guards == ("not reproduced: too early",)


def test_several_numbers_decide_together() -> None:
    decided = np.array([[1, 1, 1, 0], [1, -1, 0, 0], [1, 1, 1, -1]])
    assert join_verdicts(decided).tolist() == [1, -1, 0, -1]
    assert join_verdicts(decided, tolerated=1, refuting=2).tolist() == [1, 1, 0, 0]
    assert join_verdicts([[1, -1, 0, 2], [2, 2, 2, 2]]).tolist() == [2, -1, 0, 2]


def test_a_value_that_is_not_finite_decides_nothing() -> None:
    for kind in ("better", "below", "equal", "inside", "prediction", "near"):
        rule = Rule(kind, -1.0, 1.0, limit=1.0)  # type: ignore[arg-type]
        assert rule.decide([0.0, 0.0, 0.1, math.nan, 0.0, math.inf]) == 0


SEEDS = {
    "workstation": {"m": {"training": 5, "search": 3}, "n": {"": 20}},
    "long": {"m": {"training": 8, "search": 9}, "n": {"": 40}},
}

LONG = {"workstation": SEEDS["long"]}


@pytest.mark.parametrize(
    ("measure", "n", "expected"),
    [("m", 5, 8), ("n", 20, 40), ("n", 16, 32), ("m", 4, 7)],  # as many of the plan as a condition had left
)
def test_the_plan_says_how_many_seeds_there_will_be(measure: str, n: int, expected: int) -> None:
    assert planned_power.planned_seeds(SEEDS, [measure], "long", "workstation", n) == expected
    assert planned_power.planned_seeds(SEEDS, [measure], "workstation", "workstation", n) == n


def claim(**changes: Any) -> dict[str, Any]:
    return {"id": "x-1", "measures": ["m"], **changes}


def judged(**parts: Grounds) -> dict[str, Any]:
    said = {f"({name}) of it": one.to_dict() for name, one in parts.items()}
    return {"at": {"workstation": {"rests": said}, "laptop": {}}}


def test_a_row_for_each_part_and_scale_and_none_for_what_is_exact() -> None:
    entry = judged(a=rests("better", 0.5, 0.5, spread=1.0), b=rests("equal", -1.0, 1.0, spread=math.nan))
    rows = list(planned_power.claim_rows(claim(effect={"a": 3.0}), entry, SEEDS, {}))
    assert [(row["part"], row["scale"], row["n"]) for row in rows] == [
        ("(a) of it", "workstation", 5),
        ("(a) of it", "long", 8),
        ("(b) of it", "workstation", 5),
        ("(b) of it", "long", 8),
    ]
    assert rows[0]["if_true"] == pytest.approx(0.98, abs=0.02)  # 2.5 spreads beyond the margin
    assert rows[2]["needs"] == "no spread is known yet"
    (stuck,) = planned_power.claim_rows(
        claim(measures=["n"]), judged(a=rests("better", 1, 1, spread=0.0, n=40)), LONG, {}
    )
    assert (stuck["if_true"], stuck["needs"]) == (None, "no spread is known: every seed gave the same number")
    assert rows[1]["if_true"] >= rows[0]["if_true"]
    assert rows == list(planned_power.claim_rows(claim(effect={"a": 3.0}), entry, SEEDS, {}))
    assert list(planned_power.claim_rows(claim(), {"at": {"workstation": {}}}, SEEDS, {})) == []


def test_the_file_for_the_report_has_the_same_bytes_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    entry = {**judged(a=rests("better", 0.5, 0.5, spread=0.6)), "id": "000-1"}
    Path("results/claims.json").write_text(json.dumps({"claims": [entry]}))
    at = {"seeds": {"scaling": {"": 7}}, "runs": [], "about": []}
    content = {"studies": {"language": dict.fromkeys(("workstation", "gpu"), at)}}
    Path("results/selected.json").write_text(json.dumps(content))
    planned_power.write()
    first = Path("results/power.json").read_bytes()
    planned_power.write()
    assert Path("results/power.json").read_bytes() == first
    assert [row["scale"] for row in json.loads(first)["000-1"]] == ["workstation, gpu"]  # as many seeds
    assert planned_power.rows(scale="gpu", claim="000-1")[0]["needs"].startswith("needs more seeds")


def test_without_a_choice_it_is_a_line_for_each_study_and_scale(capsys: pytest.CaptureFixture[str]) -> None:
    planned_power.show(None, None, "table")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 40
    counted = [line.split() for line in lines[1:] if line.split()[2:3] and line.split()[2].isdecimal()]
    every = planned_power.rows()
    assert sum(int(line[2]) for line in counted) == len(every)
    enough = sum((row["if_true"] or 0) >= planned_power.ENOUGH for row in every)
    assert sum(int(line[3]) for line in counted) == enough
