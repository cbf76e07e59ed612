"""The parts of a claim together: its verdict, its p, its words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.judging.multiplicity import combine, combine_testable, list_verdicts, partial_conjunction, require_all_parts
from allmlp.judging.statistics import (
    NOT_TESTABLE,
    VERDICTS,
    Finding,
    Part,
    judge_better,
    judge_prediction,
)

SAMPLE = [0.61, 0.74, 0.55, 0.80, 0.68, 0.59, 0.77, 0.70]


def test_combined_of_no_part_is_undecided_and_a_list_says_each():
    assert combine_testable([]) == "undecided"
    assert combine_testable(iter([Part("a", "reproduced"), Part("b", NOT_TESTABLE)])) == "partly"
    assert combine_testable([Part("a", "contradicted"), Part("b", NOT_TESTABLE)]) == "contradicted"
    assert list_verdicts([Part("a", "reproduced"), Part("b", NOT_TESTABLE)]) == f"a: reproduced; b: {NOT_TESTABLE}"


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
        (["below margin", "below margin"], "below margin"),
        (["below margin", "undecided"], "undecided"),
        (["below margin", "contradicted"], "contradicted"),
        (["below margin", "reproduced"], "partly"),
        ([], "undecided"),
    ],
)
def test_parts_combine(verdicts, expected):
    assert combine([Part(str(i), verdict) for i, verdict in enumerate(verdicts)]) == expected


def test_a_whole_names_its_parts_and_takes_their_worst_p():
    finding = require_all_parts({"softmax": judge_better(SAMPLE, 0.5), "linear": judge_better(SAMPLE, 0.65)})
    assert (finding.verdict, finding.value, finding.n) == ("partly", 1.0, 8)
    assert finding.text == "softmax: reproduced; linear: undecided"
    assert finding.p == judge_better(SAMPLE, 0.65).p
    assert [part.p for part in finding.parts] == [judge_better(SAMPLE, 0.5).p, judge_better(SAMPLE, 0.65).p]
    assert [part.p_against for part in finding.parts] == [
        judge_better(SAMPLE, 0.5).p_against,
        judge_better(SAMPLE, 0.65).p_against,
    ]
    assert [(part.name, part.text) for part in finding.parts] == [
        ("softmax", judge_better(SAMPLE, 0.5).text),
        ("linear", judge_better(SAMPLE, 0.65).text),
    ]
    assert finding.unit == "of 2 parts"
    assert math.isnan(finding.low)
    assert math.isnan(finding.high)
    assert finding.rests == {
        "softmax": judge_better(SAMPLE, 0.5).rests[""],
        "linear": judge_better(SAMPLE, 0.65).rests[""],
    }
    nested = require_all_parts({"both": finding, "one": judge_better(SAMPLE[:5], 0.5)})
    assert (nested.n, list(nested.rests)) == (5, ["one"])
    nothing = require_all_parts({})
    assert (nothing.verdict, nothing.value, nothing.n, nothing.text) == ("undecided", 0.0, 0, "no part")
    assert (nothing.p, nothing.parts, nothing.rests) == (None, (), {})
    assert (
        require_all_parts({"a": judge_better(SAMPLE, 0.5), "b": judge_prediction(SAMPLE, 0.7, max_half_width=1)}).p
        is None
    )


def test_a_misspelt_verdict_fails_at_once():
    with pytest.raises(ValueError, match=f"^verdict 'proven': choose one of {', '.join(VERDICTS)}$"):
        Finding("proven", 0, 0, 0, 5, "", "")


@given(st.lists(st.sampled_from([*VERDICTS, NOT_TESTABLE]), min_size=1, max_size=6))
def test_untestable_parts_never_help_a_claim(verdicts):
    parts = [Part(str(i), verdict) for i, verdict in enumerate(verdicts)]
    testable = [part for part in parts if part.verdict != NOT_TESTABLE]
    found = combine_testable(parts)
    if not testable:
        assert found == NOT_TESTABLE
    elif len(testable) == len(parts):
        assert found == combine(parts)
    else:
        assert found != "reproduced"
        assert found == combine(testable) or (found, combine(testable)) == ("partly", "reproduced")


@pytest.mark.parametrize(("needed", "expected"), [(1, 0.03), (2, 0.04), (3, 0.3), (4, None)])
def test_at_least_so_many_of_several(needed, expected):
    assert partial_conjunction([0.3, None, 0.01, 0.02], needed) == (expected and pytest.approx(expected))
    assert partial_conjunction([0.9, 0.8, 0.7]) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_at_least_one_is_bonferroni_and_all_the_largest(p_values):
    assert partial_conjunction(p_values) == min(1.0, len(p_values) * min(p_values))
    assert partial_conjunction(p_values, len(p_values)) == max(p_values)
