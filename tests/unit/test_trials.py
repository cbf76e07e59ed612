"""A verdict that noise would get too, or that the truth would not get, is withheld."""

from typing import Any

import pytest

from allmlp.judging import rule_trials
from allmlp.judging.statistics import NOT_TESTABLE
from tests.unit.test_rates import entry

OF = {"value": 0.5, "of": "waves"}


def claim(part: str, truth: bool | None = None, noise: bool | None = None) -> dict[str, Any]:
    """A claim whose trial went so: does the truth pass, does noise? None: as it should."""
    return {"truth": {part: {**OF, "passes": truth}}, "noise": {part: {**OF, "passes": noise}}}


@pytest.mark.parametrize(
    ("verdict", "trial", "after"),
    [
        ("reproduced", {"noise": True}, "undecided"),
        ("contradicted", {"noise": True}, "contradicted"),
        ("contradicted", {"truth": False}, "undecided"),
        ("below margin", {"truth": False}, "undecided"),
        ("reproduced", {"truth": False}, "reproduced"),
        ("reproduced", {}, "reproduced"),
        ("contradicted", {}, "contradicted"),
    ],
)
def test_only_the_verdict_that_the_trial_puts_in_doubt_is_withheld(verdict: str, trial: Any, after: str) -> None:
    found = rule_trials.withhold(entry(verdict), claim("all", **trial))
    assert found["verdict"] == after
    assert ("with 0.5 for waves" in found["text"]) == (after == "undecided")
    assert bool(found["rests"][""]["guards"]) == bool(trial)


def test_the_other_parts_stay() -> None:
    found = rule_trials.withhold(entry("reproduced", "reproduced"), claim("b", noise=True))
    assert [part["verdict"] for part in found["parts"]] == ["reproduced", "undecided"]
    assert found["verdict"] == "partly"


def test_a_claim_that_its_scale_cannot_test_stays_so() -> None:
    before = {**entry("contradicted", "reproduced"), "verdict": NOT_TESTABLE, "indication": "partly"}
    found = rule_trials.withhold(before, claim("a", truth=False))
    assert (found["verdict"], found["indication"]) == (NOT_TESTABLE, "partly")
    assert [part["verdict"] for part in found["parts"]] == ["undecided", "reproduced"]


def test_a_claim_without_a_trial_stays() -> None:
    assert rule_trials.withhold(entry("reproduced"), {}) == entry("reproduced")
