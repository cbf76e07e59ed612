"""What some hours buy: the first runs of the order, the claims that these decide, and the hours that others lack."""

import json
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.plan import overview, params, priorities, status
from allmlp.plan.budgeting import buy, parse_hours
from allmlp.plan.plan import Plan
from allmlp.plan.priorities import OpenRun

RUNS = {"a": OpenRun(1.0, 0), "b": OpenRun(2.0, 0, ("a",)), "c": OpenRun(4.0, 0), "for nothing": OpenRun(0.5, 0)}
CLAIMS = {
    "of a": frozenset("a"),
    "of b": frozenset(["b", "done"]),
    "of all": frozenset("bc"),
    "had": frozenset(["done"]),
}
ORDER = priorities.order(RUNS, CLAIMS)


def test_runs_are_bought_in_their_order_until_one_does_not_end_in_time() -> None:
    assert ORDER == ["a", "b", "c", "for nothing"]
    found = buy(ORDER, RUNS, CLAIMS, 3.5)
    assert (found.runs, found.hours, found.next_hours) == (("a", "b"), 3.0, 4.0)
    assert (found.had, found.decided) == (("had",), ("of a", "of b"))
    assert found.missing == {"of all": 4.0}


def test_nothing_is_bought_for_nothing_and_a_claim_needs_the_runs_before_its_own() -> None:
    found = buy(ORDER, RUNS, CLAIMS, 0)
    assert (found.runs, found.decided) == ((), ())
    assert found.missing == {"of a": 1.0, "of b": 3.0, "of all": 7.0}


def test_enough_hours_decide_everything() -> None:
    found = buy(ORDER, RUNS, CLAIMS, 7.5)
    assert (found.runs, found.next_hours, found.missing) == (tuple(ORDER), None, {})


@pytest.mark.parametrize("text", ["100", "100h", "100.0h"])
def test_hours_are_read(text: str) -> None:
    assert parse_hours(text) == 100


@pytest.mark.parametrize("text", ["", "h", "100 days", "-1h", "nan", "inf"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"--budget .*: is not a number of hours"):
        parse_hours(text)


def test_a_plan_is_shown_on_a_screen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(params.load(project / "params.yaml"), project)
    claims = status.resolve(plan).claims
    overview.show(plan, False, "table", budget=100)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("scale smoke, 100 hours of one CPU core (measured on ")
    assert f"claims that these runs decide: {len(claims)}" in said
    assert {word for line in said[4:-1] for word in line.split()} == set(claims)
    assert len(said) <= 24
    assert max(map(len, said)) <= 120
    overview.show(plan, False, "json", budget=0)
    found = json.loads(capsys.readouterr().out)["budget"]
    assert found["hours"] == 0
    assert found["claims_open_hours"].keys() == claims.keys() - set(found["claims_decided"])
