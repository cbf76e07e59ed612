"""The last complete set of runs: it grows with the plan, never shrinks by itself, and stands while the plan grows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.common import recipes
from allmlp.judging.complete_runs import SETS, Sets, Stand, Unit, settings_name, units
from allmlp.judging.evidence import Evidence
from tests import tiny

UNIT = Unit(("falls", "cost"))
STUDY, SCALE = "copying", "workstation"
BOTH = ("falls", "cost")


def names(*runs: str) -> dict[str, str]:
    return {run: f"{run} by its settings" for run in runs}


def take(sets: Sets, planned: str, measured: str, cost: str | None = None) -> Stand:
    """With one letter per run; `cost`: those that have the second measure, where these are others."""
    of = {"falls": list(measured), "cost": list(measured if cost is None else cost)}
    return sets.take(STUDY, SCALE, UNIT, {m: list(planned) for m in BOTH}, of, names(*planned))


def recorded(sets: Sets) -> dict[str, list[str]]:
    return {m: [name[0] for name in of] for m, of in sets.complete[STUDY][SCALE].get(UNIT.key, {}).items()}


def test_a_set_is_recorded_when_every_planned_run_has_every_measure() -> None:
    sets = Sets()
    assert take(sets, "abc", "ab") == Stand()
    assert take(sets, "abc", "abc", cost="ab") == Stand()
    assert recorded(sets) == {}
    assert take(sets, "abc", "abc") == Stand()
    assert recorded(sets) == {"falls": ["a", "b", "c"], "cost": ["a", "b", "c"]}


def test_one_run_more_leaves_the_recorded_set_standing_until_it_is_measured() -> None:
    sets = Sets()
    take(sets, "abc", "abc")
    for measured in ("abc", "abcd"):
        assert take(sets, "abcde", measured).runs == {m: ["a", "b", "c"] for m in BOTH}
        assert recorded(sets) == {m: ["a", "b", "c"] for m in BOTH}
    assert take(sets, "abcde", "abcde") == Stand()
    assert recorded(sets)["falls"] == list("abcde")


def test_a_set_whose_runs_the_plan_dropped_counts_no_more_and_names_them() -> None:
    sets = Sets()
    take(sets, "abc", "abc")
    assert take(sets, "abd", "ab") == Stand(dropped=("c by its settings",))
    assert recorded(sets)["falls"] == list("abc"), "kept, for the parameters may be changed back"
    assert take(sets, "abcd", "abc").runs is not None


def test_a_set_whose_measurements_are_gone_does_not_stand() -> None:
    sets = Sets()
    take(sets, "abc", "abc")
    assert take(sets, "abcd", "abd") == Stand()


PLANS = st.lists(st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1), st.sets(st.sampled_from("abcdef"))))


@given(PLANS)
def test_what_is_judged_was_a_whole_plan_once(steps: list[tuple[set[str], set[str]]]) -> None:
    """Whatever is planned and measured in whatever order: never a part of a plan, never what is not measured now."""
    sets, whole = Sets(), set()
    for planned, there in steps:
        measured = planned & there
        stand = take(sets, "".join(sorted(planned)), "".join(sorted(measured)))
        if planned == measured:
            whole.add(frozenset(planned))
        if stand.runs is not None:
            judged = frozenset(stand.runs["falls"])
            assert judged in whole
            assert judged < planned
            assert judged <= measured


def test_sets_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Sets.read() == Sets()
    sets = Sets()
    take(sets, "abc", "abc")
    sets.write()
    assert Sets.read() == sets
    assert len(json.loads(SETS.read_text())["sets"]) == 1, "both measures are of the same runs"
    before = SETS.read_bytes()
    Sets.read().write()
    assert SETS.read_bytes() == before
    sets.keep_units(STUDY, {"another"})
    assert sets.complete[STUDY][SCALE] == {}


def test_a_raised_recipe_renames_runs_and_not_their_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = tiny.run("transformer"), tiny.run("transformer", steps=13)
    before = run.id, settings_name(run)
    original = recipes.recipe_number
    monkeypatch.setattr(recipes, "recipe_number", lambda module: original(module) + 1)
    again = tiny.run("transformer")
    assert again.id != before[0]
    assert settings_name(again) == before[1] != settings_name(other)


def test_every_claim_and_figure_of_a_study_is_a_unit() -> None:
    found = {unit.key for unit in units("language")}
    assert {"neuron_classes of neurons", "scaling"} <= found


def content(**measures: dict[str, bool]) -> dict[str, Any]:
    """A scale's content: measure -> run -> is it measured."""
    runs = {run: {"labels": {"part": run[0]}, "seed": 0, "steps": 1} for of in measures.values() for run in of}
    planned = {measure: list(of) for measure, of in measures.items()}
    there = {measure: {run: {} for run, is_there in of.items() if is_there} for measure, of in measures.items()}
    return {"runs": runs, "planned": planned, "measurements": there}


def test_a_standing_set_hides_the_other_runs_from_all_measures() -> None:
    of = content(falls={"a1": True, "a2": False}, cost={"a1": True, "a2": True, "b1": True})
    of["standing"] = {"falls": {"falls": ["a1"]}}
    found = Evidence(STUDY, SCALE, of).complete_set(Unit(("falls",)))
    assert found is not None
    assert (found.measured_runs("falls"), found.measured_runs("cost")) == (["a1"], ["a1"])
    assert found.extension == (1, 2)


def test_only_the_parts_that_are_asked_for_must_be_complete() -> None:
    of = content(falls={"a1": True, "b1": False})
    found = Evidence(STUDY, SCALE, of)
    assert found.complete_set(Unit(("falls",))) is None
    of_a = found.complete_set(Unit(("falls",), ("a",)))
    assert of_a is not None
    assert (of_a.measured_runs("falls"), of_a.extension) == (["a1"], None)
    assert found.complete_set(Unit(("falls",), ("c",))) is None
