"""What a claim without a verdict lacks: the first thing that its rule meets on the way to a decision."""

from typing import Any

import pytest

from allmlp.common.formats import read_json
from allmlp.judging import claims_json
from allmlp.judging.planned_power import POWER
from allmlp.judging.statistics import NOT_TESTABLE
from allmlp.report import open_claims, render
from allmlp.report.open_claims import Lack
from allmlp.spec import catalogue

CLAIM = {"needs": {"scale": "workstation", "seeds": 5, "parts": {"b": {"scale": "paper"}}}}
EDGE = "the learning rate is at an edge of its search, or not known (a model)"
PLANNED = "plans for it are measured"
UNPLANNED = "needs a model of width 9, which is not planned at laptop"
MARGIN = ("margin", "the interval contains the margin")


def part(verdict: str = "undecided", text: str = "", name: str = "") -> dict[str, Any]:
    return {"name": name, "verdict": verdict, "text": text}


def entry(*parts: dict[str, Any], guards: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    """Of a claim without parts, or with these."""
    rests = {one["name"]: {"guards": list(guards)} for one in parts or [part()]}
    return {
        "scale": "smoke",
        "verdict": "undecided",
        "n": 5,
        "text": "",
        "parts": list(parts),
        "rests": rests,
        **changes,
    }


@pytest.mark.parametrize(
    ("found", "lacking"),
    [
        (entry(scale=None, text=f"{UNPLANNED}; 3 of 9 runs at workstation"), ("runs", "3 of 9 runs at workstation")),
        (entry(scale=None, text=UNPLANNED), ("runs", f"not all of the runs that scale workstation {PLANNED}")),
        (entry(part(text="not judged: needs width 3; more"), verdict="partly"), ("runs", "not judged: needs width 3")),
        (entry(verdict=NOT_TESTABLE, n=1), ("scale", "needs scale workstation or larger and 5 seeds")),
        (entry(guards=("premise not met: it did not learn", EDGE)), ("premise", "it did not learn")),
        (entry(guards=(EDGE,)), ("rate", "(a model)")),
        (entry(guards=("the rule reproduces noise too",)), ("rule", "the rule reproduces noise too")),
        (entry(guards=("not reproduced: it is censored",)), ("further", "not reproduced: it is censored")),
        (entry(n=3), ("seeds", "needs 5 seeds")),
        (entry(), MARGIN),
    ],
)  # fmt: skip
def test_what_is_met_first_is_named(found: dict[str, Any], lacking: tuple[str, str]) -> None:
    assert open_claims.lacks(CLAIM, found) == [Lack("", *lacking)]


def test_a_scale_that_does_not_plan_what_a_claim_compares_would_not_decide_it() -> None:
    at_its_scale = UNPLANNED.replace("laptop", "workstation")
    planned, lacking = open_claims.missing_runs(CLAIM, entry(scale=None, text=f"{UNPLANNED}; {at_its_scale}"))
    assert (planned, lacking) == (False, at_its_scale)
    row = {"needs": CLAIM["needs"]}
    for text, commands in ((at_its_scale, 0), (UNPLANNED, 2)):
        found = {**entry(scale=None, text=text, verdict="not run"), "study": "mixers"}
        assert len(render._what_decides(row, found, [])) == commands


def test_a_part_with_other_needs_lacks_them_and_a_decided_one_nothing() -> None:
    parts = (part("reproduced", name="(a) narrow"), part(NOT_TESTABLE, name="(b) wide"))
    found = open_claims.lacks(CLAIM, entry(*parts, verdict="reproduced"))
    assert found == [Lack("(b) wide", "scale", "needs scale paper or larger and 5 seeds")]
    assert open_claims.lacks(CLAIM, entry(verdict="reproduced")) == []


@pytest.mark.parametrize(
    ("row", "lacking"),
    [
        ({"needs": "", "never": False}, MARGIN),
        ({"needs": "needs more seeds: 12 for 80%", "never": False, "enough": 12}, ("seeds", "needs 12 seeds")),
        ({"needs": "cannot decide at any n", "never": True}, ("rule", "cannot decide at any n")),
        ({"needs": "no spread is known yet", "never": False, "enough": None}, ("seeds", "no spread is known yet")),
    ],
)
def test_seeds_are_named_from_the_power_at_the_scale_that_decides(
    row: dict[str, Any], lacking: tuple[str, str]
) -> None:
    other = {"part": "", "scale": "paper", "needs": "another", "never": True}
    power = [other, {"part": "", "scale": "smoke, laptop", **row}]
    assert open_claims.lacks(CLAIM, entry(), power) == [Lack("", *lacking)]


def test_a_larger_scale_is_not_named_where_no_seeds_decide_there_either() -> None:
    power = [{"part": "", "scale": "workstation, gpu", "needs": "cannot decide with 128 seeds or fewer", "never": True}]
    (found,) = open_claims.lacks(CLAIM, entry(verdict=NOT_TESTABLE), power)
    assert found == Lack("", "rule", "cannot decide with 128 seeds or fewer, at workstation too")


@pytest.mark.usefixtures("committed_last_mile")
def test_every_open_claim_of_the_project_lacks_something_and_no_other_one_does() -> None:
    power, entries = read_json(POWER), {one["id"]: one for one in claims_json.read()["claims"]}
    for study in catalogue.STUDIES:
        for row in catalogue.ledger(study):
            found = open_claims.lacks(row, entries[row["id"]], power.get(row["id"], []))
            is_open = entries[row["id"]]["verdict"] in open_claims.OPEN
            parts = [part["verdict"] in open_claims.OPEN for part in entries[row["id"]].get("parts", [])]
            assert bool(found) == (is_open or any(parts)), row["id"]
            assert {one.kind for one in found} <= open_claims.LACKS.keys()
