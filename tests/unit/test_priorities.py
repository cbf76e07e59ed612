"""What decides most claims per hour comes first, seed by seed, and nothing before what it waits for."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.plan import priorities
from allmlp.plan.priorities import OpenRun, Priorities, deciding_runs, order
from allmlp.spec.run import Run
from tests import tiny

SCALES = ("smoke", "long", "gpu")


def test_the_cheapest_claim_comes_first() -> None:
    runs = {"dear": OpenRun(10.0, 0), "cheap": OpenRun(1.0, 0)}
    assert order(runs, {"a": frozenset(["dear"]), "b": frozenset(["cheap"])}) == ["cheap", "dear"]


def test_many_claims_of_the_same_runs_come_before_one_that_costs_less() -> None:
    runs = {"alone": OpenRun(2.0, 0), "shared": OpenRun(6.0, 0)}
    claims = {"a": frozenset(["alone"]), **{f"b{number}": frozenset(["shared"]) for number in range(4)}}
    assert order(runs, claims) == ["shared", "alone"]


def test_what_is_done_costs_nothing() -> None:
    runs = {"new": OpenRun(2.0, 0), "last of many": OpenRun(1.0, 0)}
    claims = {"a": frozenset(["new"]), "b": frozenset(["last of many", "done 1", "done 2"])}
    assert order(runs, claims) == ["last of many", "new"]


def test_seed_by_seed_and_searches_before_what_they_choose_for() -> None:
    runs = {
        "a-seed0": OpenRun(1.0, 0, ("a-search",)),
        "a-seed1": OpenRun(1.0, 1, ("a-search",)),
        "a-search": OpenRun(1.0, 100),
        "b-seed0": OpenRun(1.0, 0),
        "b-seed1": OpenRun(1.0, 1),
    }
    found = order(runs, {"claim": frozenset(["a-seed0", "a-seed1", "b-seed0", "b-seed1"])})
    assert found == ["a-search", "a-seed0", "b-seed0", "a-seed1", "b-seed1"]


def test_runs_that_no_claim_needs_come_last() -> None:
    runs = {"for nothing": OpenRun(0.1, 0), "for a claim": OpenRun(5.0, 0)}
    assert order(runs, {"a": frozenset(["for a claim"])}) == ["for a claim", "for nothing"]


@given(st.data())
def test_every_run_once_and_after_what_it_waits_for(data: st.DataObject) -> None:
    names = [f"run{number}" for number in range(data.draw(st.integers(1, 12)))]
    hours, seeds = st.floats(0, 10), st.integers(0, 3)
    runs = {
        name: OpenRun(data.draw(hours), data.draw(seeds), tuple(data.draw(st.lists(st.sampled_from(names[:place])))))
        if place
        else OpenRun(data.draw(hours), data.draw(seeds))
        for place, name in enumerate(names)
    }
    shuffled = dict(data.draw(st.permutations(list(runs.items()))))
    sets = data.draw(st.lists(st.frozensets(st.sampled_from([*names, "done"])), max_size=5))
    found = order(shuffled, {f"claim{number}": of for number, of in enumerate(sets)})
    assert sorted(found) == sorted(names)
    assert all(found.index(one) < found.index(name) for name in names for one in runs[name].waits)


def claim(**more: object) -> dict[str, object]:
    """A claim of a ledger."""
    needs = {"scale": "long", "seeds": 2}
    return {"id": "c", "measures": ["cost"], "needs": needs, "test": "a", **more}


def of_seeds(*seeds: int, part: str = "one", **more: object) -> list[Run]:
    """Runs that have the measure `cost`."""
    labels: dict[str, str | int | float] = {"part": part}
    return [replace(tiny.run("transformer"), seed=seed, labels=labels, measures=("cost",), **more) for seed in seeds]


def test_a_claim_needs_every_run_with_its_measures() -> None:
    runs = of_seeds(0, 1)
    other = replace(runs[0], seed=2, measures=("learning_curve",))
    assert deciding_runs([claim()], [*runs, other], SCALES, "long") == {"c": frozenset(run.id for run in runs)}


def test_a_claim_that_names_its_parts_needs_their_runs_alone() -> None:
    mine, others = of_seeds(0, 1), of_seeds(0, 1, 2, part="two", steps=7)
    assert deciding_runs([claim(runs=["one"])], mine + others, SCALES, "long") == {"c": frozenset(r.id for r in mine)}


def test_what_a_scale_cannot_decide_is_no_reason_to_run_it() -> None:
    runs = of_seeds(0, 1)
    for lacking in (
        {"needs": {"scale": "gpu", "seeds": 2}},
        {"needs": {"scale": "long", "seeds": 3}},
        {"measures": ["cost", "learning_curve"]},
        {"test": None},
    ):
        assert deciding_runs([claim(**lacking)], runs, SCALES, "long") == {}


def test_a_claim_of_which_a_part_can_be_decided_is_worth_its_runs() -> None:
    runs = of_seeds(0, 1)
    beyond = {"scale": "gpu", "seeds": 2}
    decided = deciding_runs([claim(needs={**beyond, "parts": {"b": {"scale": "long"}}})], runs, SCALES, "long")
    assert decided == {"c": frozenset(run.id for run in runs)}
    assert deciding_runs([claim(needs={**beyond, "parts": {"b": {"seeds": 1}}})], runs, SCALES, "long") == {}
    assert deciding_runs([claim(runs=["one", "not planned"])], runs, SCALES, "long") == {}


def test_measuring_comes_before_any_training() -> None:
    first, second, unknown = (tiny.run("transformer", steps=steps) for steps in (3, 4, 5))
    assert Priorities([]).job_priority([first]) == Priorities([]).job_priority([second]) == 0
    priorities = Priorities([first.id, second.id])
    found = [priorities.job_priority([run]) for run in (first, second, unknown)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 3
    of_batch = priorities.job_priority([unknown, first])
    assert of_batch == priorities.job_priority([first]), "a batch is as urgent as its first run"
    measures = [priorities.job_priority([run], measuring=True) for run in (first, second, unknown)]
    assert min(measures) > max(found)
    assert priorities.highest > max(measures)


def test_the_order_of_advance_is_kept_and_a_damaged_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert priorities.read_order() == []
    priorities.write(["b", "a"])
    assert priorities.read_order() == [], "an earlier call's"
    monkeypatch.setenv(priorities.VARIABLE, str(priorities.ORDER))
    assert priorities.read_order() == ["b", "a"]
    priorities.ORDER.write_text('["b')
    assert priorities.read_order() == []
