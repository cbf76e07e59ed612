"""The table of verdicts that moved: which claims it lists, and the facts that it gives as reasons."""

from typing import Any

import pytest

from allmlp import studies
from allmlp.report.moved import before, moved, record, why
from allmlp.report.render import templates

ROW: dict[str, Any] = {
    "id": "009-1",
    "claim": "a claim",
    "statistic": "s",
    "reproduced_if": "r",
    "contradicted_if": "c",
    "margin": {"nats": 0.5},
    "paper": {},
    "measures": ["m"],
    "needs": {"scale": "workstation", "seeds": 5},
}
ENTRY: dict[str, Any] = {
    "verdict": "undecided",
    "scale": "workstation",
    "text": "t",
    "runs": [f"x-seed{seed}-abc" for seed in range(5)],
    "parts": [],
}
THEN = record(ROW, ENTRY)


@pytest.mark.parametrize(
    ("row", "entry", "reason"),
    [
        (
            {},
            {"scale": "long", "runs": ["y-seed7-abc"]},
            ["judged at long, before at workstation", "1 seed instead of 5"],
        ),
        ({}, {"runs": [f"y-seed{seed}-abc" for seed in range(5)]}, ["other runs of the same scale"]),
        ({"statistic": "another"}, {}, ["its rule was written anew"]),
        ({"margin": {"nats": 0.4}}, {}, ["another margin, or another number of the paper's"]),
        ({"needs": {"scale": "long", "seeds": 5}}, {}, ["it asks for other runs or measures"]),
        (
            {},
            {"text": "t; does not survive Holm's correction"},
            ["Holm's correction takes back 1 of its findings, before 0"],
        ),
        (
            {},
            {},
            ["same words, numbers and runs: the rule's code, or which finding Holm's correction takes back"],
        ),
    ],
)
def test_a_reason_is_a_fact_that_differs(row: dict[str, Any], entry: dict[str, Any], reason: list[str]) -> None:
    assert why(THEN, record({**ROW, **row}, {**ENTRY, **entry})) == reason


def test_a_correction_that_is_no_longer_made_is_a_reason_too() -> None:
    part = {"name": "a", "verdict": "undecided", "text": "t; does not survive Holm's correction"}
    then = record(ROW, {**ENTRY, "parts": [part]})
    assert why(then, THEN) == ["Holm's correction takes back 0 of its findings, before 1"]


def test_only_what_moved_is_listed_and_new_claims_are_counted() -> None:
    ledger = [
        {**ROW, "verdict": ENTRY},
        {**ROW, "id": "009-2", "verdict": {**ENTRY, "verdict": "reproduced"}},
        {**ROW, "id": "009-3", "verdict": {**ENTRY, "scale": "long"}},
        {**ROW, "id": "009-4", "verdict": {"verdict": "not run", "scale": None, "text": "no run"}},
        {**ROW, "id": "009-5", "verdict": ENTRY},
    ]
    found = moved(ledger, {f"009-{number}": THEN for number in (1, 2, 3, 4)})
    assert [row["id"] for row in found["rows"]] == ["009-2", "009-3", "009-4"]
    assert (found["of"], found["new"]) == (4, 1)
    page = templates().get_template("parts.html.j2").module.moved_table(found)
    assert "3 of 4 verdicts moved" in page
    assert "1 claim came since" in page
    assert 'href="#claim-009-2"' in page
    assert 'href="#claim-009-1"' not in page


def test_the_record_of_before_names_claims_with_every_fact() -> None:
    held, known = before(), {row["id"] for study in studies.STUDIES for row in studies.ledger(study)}
    assert set(held) <= known
    assert all(list(one) == list(THEN) for one in held.values())
