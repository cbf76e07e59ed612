"""A study's verdicts corrected for its many tests: Holm's method, its families, and what it takes back."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.judging import correction, judge
from allmlp.judging.correction import adjust_p_values, holm, threshold
from allmlp.judging.rules import premise, undecided_finding
from allmlp.judging.statistics import VERDICTS, judge_better

P = tuple[str, float | None, float | None]  # verdict, p, p_against


def entry(name: str, verdict: str, p: float | None = 0.5, p_against: float | None = None, **parts: P) -> dict[str, Any]:
    """A claim as judged at workstation; `parts`: name -> verdict and p values."""
    listed = [
        {"name": part, "verdict": said, "text": "t", "p": value, "p_against": against}
        for part, (said, value, against) in parts.items()
    ]
    held = sum(part["verdict"] == "reproduced" for part in listed)
    result = {"verdict": verdict, "value": float(held), "text": "t", "p": p, "p_against": p_against, "parts": listed}
    return {"id": name, "scale": "workstation", "at": {"workstation": dict(result)}, **result}


@given(st.lists(st.floats(0, 0.1), max_size=8), st.floats(0, 0.1))
def test_a_test_survives_up_to_its_threshold(others: list[float], p: float) -> None:
    survives = holm({"this": p, **{str(place): of for place, of in enumerate(others)}})["this"]
    if p not in others and abs(p / threshold(others) - 1) > 1e-9:  # ties have an order
        assert survives == (p <= threshold(others))


def test_holm_takes_back_what_does_not_survive_among_many() -> None:
    entries = [entry(str(i), "undecided") for i in range(9)]
    entries += [entry("good", "reproduced", 1e-4), entry("lucky", "reproduced", 0.02)]
    correction.correct(entries)
    assert [found["verdict"] for found in entries[-2:]] == ["reproduced", "undecided"]
    assert [found["holm"] for found in entries[-2:]] == [True, False]
    assert "does not survive Holm" in entries[-1]["text"]
    assert entries[-1]["at"]["workstation"]["verdict"] == "undecided"


def test_a_scale_that_does_not_decide_has_families_of_its_own() -> None:
    """Of nine claims judged at a smaller scale too, a lucky one is taken back there; where it decides it stands."""
    entries = [entry(str(i), "undecided") for i in range(9)]
    lucky, good = entry("lucky", "reproduced", 1e-4), entry("good", "reproduced", 1e-4)
    small = [{key: one[key] for key in one if key not in ("id", "at")} | {"scale": "laptop"} for one in entries]
    for one, at in zip([lucky, good, *entries], [{**lucky, "p": 0.02}, {**good, "p": 1e-4}, *small], strict=False):
        one["at"]["laptop"] = {**at, "at": None, "scale": "laptop"}
    correction.correct([*entries, lucky, good])
    assert [one["verdict"] for one in (lucky, good)] == ["reproduced", "reproduced"]
    assert [one["at"]["laptop"]["verdict"] for one in (lucky, good)] == ["undecided", "reproduced"]
    assert "does not survive Holm" in lucky["at"]["laptop"]["text"]


def test_holm_takes_back_what_is_contradicted_by_chance_too() -> None:
    entries = [entry(str(i), "undecided", 0.5, 0.5) for i in range(9)]
    entries += [entry("wrong", "contradicted", 1.0, 1e-4), entry("unlucky", "contradicted", 0.98, 0.02)]
    entries += [entry("exact", "contradicted", None, None)]
    correction.correct(entries)
    assert [found["verdict"] for found in entries[-3:]] == ["contradicted", "undecided", "contradicted"]
    assert "does not survive Holm" in entries[-2]["text"]


def test_both_tests_of_a_part_count() -> None:
    """Two parts of two tests each are a family of four: 0.02 is too much for the smallest of them."""
    alone, both = entry("alone", "reproduced", 0.02), entry("both", "reproduced", 0.02, 0.98)
    for found in (alone, both):
        correction.correct([found, entry("other", "undecided", 0.5, None if found is alone else 0.5)])
    assert (alone["verdict"], both["verdict"]) == ("reproduced", "undecided")


def test_a_test_that_no_verdict_rests_on_decides_nothing() -> None:
    """A rule that withholds a verdict keeps the p of it: it may not make room for others by being small."""
    entries = [entry("withheld", "undecided", 1e-9), entry("lucky", "reproduced", 0.03)]
    correction.correct(entries)
    assert entries[1]["verdict"] == "undecided"


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_holm_only_takes_verdicts_back(tests: list[P]) -> None:
    entries = [entry(str(i), verdict, p, against) for i, (verdict, p, against) in enumerate(tests)]
    correction.correct(entries)
    for found, (verdict, p, against) in zip(entries, tests, strict=True):
        assert found["verdict"] in (verdict, "undecided")
        rests_on = {"reproduced": p, "contradicted": against, "below margin": against}.get(verdict)
        if rests_on is not None and rests_on > 0.05:
            assert found["verdict"] == "undecided"
        if rests_on is not None and rests_on * 2 * len(tests) <= 0.05:
            assert found["verdict"] == verdict


def test_holm_counts_parts_and_recombines_the_claims_that_lose_one() -> None:
    parts: dict[str, P] = {"a": ("reproduced", 1e-6, None), "b": ("reproduced", 0.02, None)}
    both = entry("both", "reproduced", None, **parts, c=("reproduced", None, None))
    parts = {"a": ("reproduced", 0.02, None), "b": ("contradicted", 0.99, None)}
    one = entry("one", "partly", None, **parts, c=("undecided", None, None))
    correction.correct([both, one])  # of four tests
    assert (both["verdict"], one["verdict"]) == ("partly", "contradicted")
    assert [part["verdict"] for part in both["parts"]] == ["reproduced", "undecided", "reproduced"]
    assert [part["p"] for part in both["parts"]] == [1e-6, 0.02, None]
    assert "does not survive Holm" in both["parts"][1]["text"]
    assert (both["value"], both["text"]) == (2.0, "a: reproduced; b: undecided; c: reproduced")
    assert both["at"]["workstation"]["parts"] == both["parts"]
    assert (both["holm"], one["holm"]) == (False, False)


def test_own_claims_and_the_papers_are_two_families() -> None:
    """0.02 survives beside one test, not beside two; it makes no difference how many of the other kind there are."""
    own = [entry(f"004-own-{number}", "undecided") for number in range(9)]
    paper, lucky = entry("004-1", "reproduced", 0.02), entry("004-own-9", "reproduced", 0.02)
    correction.correct([paper, *own, lucky])
    assert (paper["verdict"], lucky["verdict"]) == ("reproduced", "undecided")
    correction.correct([paper, entry("004-2", "undecided"), entry("004-3", "undecided")])
    assert paper["verdict"] == "undecided"


def test_a_test_that_the_results_prevent_counts_and_one_that_the_plan_leaves_out_does_not() -> None:
    """Otherwise results would choose how many tests there are."""
    found = judge_better([0.1, 0.2, 0.3, 0.4, 0.5], 0.0)
    prevented = premise(found, "no neuron is of this class", holds=False)
    assert (prevented.verdict, prevented.p, prevented.p_against) == ("undecided", 1.0, 1.0)
    for beside, survives in ((prevented, False), (undecided_finding("needs runs, which are not planned"), True)):
        lucky = entry("004-1", "reproduced", 0.02)
        correction.correct([lucky, entry("004-2", "undecided", beside.p, beside.p_against)])
        assert (lucky["verdict"] == "reproduced") == survives


def test_holm_leaves_out_what_is_not_judged_at_its_needs() -> None:
    entries = [{**entry(str(i), judge.NOT_TESTABLE), "indication": "reproduced"} for i in range(9)]
    entries += [{"id": "none", "verdict": "not run", "scale": None, "at": {}, "text": "t"}]
    entries += [entry("good", "reproduced", 0.02)]
    correction.correct(entries)
    assert entries[-1]["verdict"] == "reproduced"
    assert not any("holm" in found for found in entries[:-1])


def test_holm_agrees_with_the_published_example():
    # p = 0.01, 0.02, 0.03, 0.04 of R's p.adjust(method = "holm"): 0.04, 0.06, 0.06, 0.06
    adjusted = adjust_p_values({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03})
    assert list(adjusted) == ["d", "b", "a", "c"]
    assert list(adjusted.values()) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert holm({"d": 0.04, "b": 0.02, "a": 0.01, "c": 0.03}) == dict.fromkeys("dbc", False) | {"a": True}
    assert holm({}) == {}
    assert adjust_p_values({"a": 0.9, "b": 1.0}) == {"a": 1.0, "b": 1.0}
    assert holm({"a": 0.05}) == {"a": True}
    assert holm({"a": 0.08}) == {"a": False}
    assert holm({"a": 0.08}, level=0.1) == {"a": True}
    assert adjust_p_values({"a": 0.0, "b": 1.0}) == {"a": 0.0, "b": 1.0}
    for wrong in (math.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match=f"^001-4: {wrong} is not a p value$"):
            holm({"001-4": wrong})
