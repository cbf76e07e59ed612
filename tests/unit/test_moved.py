"""The table of verdicts that moved: which claims and parts it lists, and the facts that it gives as reasons."""

from pathlib import Path
from typing import Any

import pytest

from allmlp.common import paths
from allmlp.judging.state_comparison import MOVED, State, moved_verdicts
from allmlp.pipeline.states import comparing
from allmlp.report.render import templates

ROW: dict[str, Any] = {
    "id": "009-1",
    "statistic": "s",
    "reproduced_if": "r",
    "contradicted_if": "c",
    "margin": {"nats": 0.5},
    "paper": {},
    "measures": ["m"],
    "needs": {"scale": "workstation", "seeds": 5},
}
ENTRY: dict[str, Any] = {
    "claim": "a claim",
    "verdict": "undecided",
    "scale": "workstation",
    "rule": "abc",
    "runs": "0123",
    "n": 5,
    "parts": [],
    "holm": True,
}


def table(row: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    after = State({"009-1": {**ROW, **row}}, {"009-1": {**ENTRY, "verdict": "reproduced", **entry}})
    return moved_verdicts(State({"009-1": ROW}, {"009-1": ENTRY}), after)


@pytest.mark.parametrize(
    ("row", "entry", "reasons"),
    [
        ({}, {"scale": "long", "n": 8}, ["scale: judged at long, before at workstation", "seeds: 8 instead of 5"]),
        ({}, {"runs": "4567"}, ["runs: others of the same scale"]),
        ({"margin": {"nats": 0.4}, "needs": {}}, {"rule": "def"}, ["rule: another margin, needs"]),
        ({"compares": ["mlp"]}, {"rule": "def"}, ["rule: another compares"]),
        ({}, {"rule": "def"}, ["rule: the same words and numbers, other code"]),
        ({}, {"holm": False}, ["family: Holm's correction takes a verdict back, before it takes nothing back"]),
        ({}, {}, ["family: the same rule and runs among other tests"]),
    ],
)
def test_a_reason_is_a_fact_that_differs(row: dict[str, Any], entry: dict[str, Any], reasons: list[str]) -> None:
    (found,) = table(row, entry)["rows"]
    assert found["why"] == reasons


def part(name: str, verdict: str) -> dict[str, str]:
    return {"name": name, "verdict": verdict}


def test_claims_and_parts_that_moved_are_listed_and_new_claims_counted() -> None:
    then = {**ENTRY, "parts": [part("(a) at 16", "reproduced"), part("(b) at 64", "undecided")]}
    now = {**ENTRY, "parts": [part("(a) at 32", "reproduced"), part("(b) at 64", "below margin")]}
    entries = {"009-1": ENTRY, "009-2": then, "009-3": {**ENTRY, "verdict": "reproduced"}}
    after = {"009-1": ENTRY, "009-2": now, "009-3": ENTRY, "009-4": ENTRY}
    found = moved_verdicts(State({}, entries), State({}, after))
    assert [(row["id"], row["part"]) for row in found["rows"]] == [("009-2", "b"), ("009-3", "")]
    assert (found["of"], found["new"]) == (3, 1)
    page = templates().get_template("parts.html.j2").module.moved_table({"since": "efa22195aa", **found})
    for piece in ("2 of 3 claims", "efa22195,", "1 claim came since", 'href="#claim-009-2"', "part b", "below margin"):
        assert piece in page
    assert 'href="#claim-009-1"' not in page


def test_a_new_table_leaves_no_page_with_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparing, "compare", lambda *_: ({}, {"rows": [], "of": 0, "new": 0}))
    paths.write_atomically(paths.REPORT, "the old one")
    comparing.show("HEAD", None, None, write=False)
    assert paths.REPORT.is_file()
    comparing.show("HEAD", None, None, write=True)
    assert MOVED.is_file()
    assert not paths.REPORT.exists(), "DVC makes it again"
