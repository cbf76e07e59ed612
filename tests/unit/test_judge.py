"""Which scale a claim is judged at, and what is said where it cannot be."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from allmlp.common.errors import UserError
from allmlp.judging import claims_json, correction, evidence, judge, rule_digests, select, selection
from allmlp.judging.evidence import Evidence
from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_above, premise
from allmlp.judging.selection import SelectedMeasurement
from allmlp.judging.statistics import Finding, judge_better
from allmlp.measurements import store
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from tests import stored, tiny
from tests.conftest import PROJECT

CLAIM: dict[str, Any] = {
    "id": "002-4",
    "claim": "a claim",
    "statistic": "s",
    "reproduced_if": "r",
    "contradicted_if": "c",
    "margin": {"nats": 0.5},
    "paper": {},
    "measures": ["m"],
    "needs": {"scale": "workstation", "seeds": 5},
    "test": "t",
}


RECIPES = itertools.count(1)  # so that no two of these are the same measurement


def at(scale: str, seeds: int, measured: int | None = None, value: float = 1.0) -> Evidence:
    """Evidence of one scale: `measured` of `seeds` planned runs, each with one row."""
    runs = {
        f"{scale}-seed{seed}": {"labels": {"model": "x"}, "seed": seed, "steps": 1, "corpus": ""}
        for seed in range(seeds)
    }
    rows = {run: pd.DataFrame({"value": [value + 0.01 * runs[run]["seed"]]}) for run in list(runs)[:measured]}
    held = stored.put("copying", "m", rows, recipe=next(RECIPES))
    content = {"runs": runs, "planned": {"m": list(runs)}, "measurements": {"m": held}}
    return Evidence("copying", scale, {**content, "digests": {"m": stored.digest("copying", "m", held)}})


@pytest.fixture(autouse=True)
def _a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def t(found: Evidence) -> Finding:
        return judge_better(found.table("m")["value"].to_numpy(), found.margin["nats"], unit="nats")

    monkeypatch.setattr(catalogue, "verdict", lambda study, test: t)
    monkeypatch.setattr(rule_digests, "rule", lambda study, claim: "digest")
    monkeypatch.setattr(catalogue, "paper_sizes", lambda study: {})


def judged(*found: Evidence, **changes: Any) -> dict[str, Any]:
    return judge.judge_claim("copying", {**CLAIM, **changes}, {e.scale: e for e in found})


def test_seeds_from_before_a_rule_are_no_evidence_for_it() -> None:
    found = at("workstation", 9)
    late = found.claim_set({**CLAIM, "margin": {"nats": 0.5, "first_seed": 3}})
    assert late is not None
    assert late.planned_runs("m") == [f"workstation-seed{seed}" for seed in range(3, 9)]
    assert judged(found, margin={"nats": 0.5, "first_seed": 3})["n"] == 6
    none = found.claim_set({**CLAIM, "margin": {"nats": 0.5, "first_seed": 99}})
    assert none is not None
    assert none.planned_runs("m") == found.planned_runs("m"), "the rule itself then says that they are not planned"


def test_a_test_that_fails_is_named_with_its_claim_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: Evidence) -> Finding:
        return judge_better(found.table("m")["no such column"].to_numpy(), 1.0, unit="nats")

    monkeypatch.setattr(catalogue, "verdict", lambda study, test: broken)
    with pytest.raises(
        UserError, match=r"^002-4: its test t failed on long \(.*\.py:\d+\): KeyError: 'no such column'"
    ):
        judged(at("long", 5))


def test_the_largest_complete_scale_decides() -> None:
    entry = judged(at("laptop", 3), at("workstation", 5), at("gpu", 5, measured=4))
    assert (entry["scale"], entry["verdict"], entry["n"]) == ("workstation", "reproduced", 5)
    assert set(entry["at"]) == {"laptop", "workstation"}


def test_the_scale_of_the_largest_budget_decides_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = {"workstation": 3e10, "long": 2e12, "gpu": 1e11}
    monkeypatch.setattr(Evidence, "operations", lambda found, measures: budgets[found.scale])
    scales = [at(scale, 5) for scale in budgets]
    entry = judged(*scales)
    assert (entry["scale"], entry["operations"]) == ("long", 2e12)
    content = {"studies": {"copying": {found.scale: found.content for found in scales}}}
    figure: Any = SimpleNamespace(measures=("m",), parts=(), also=(), compares=())
    drawn = evidence.largest_evidence("copying", figure, content)
    assert drawn is not None
    assert drawn.scale == "long"
    budgets["gpu"] = 2e12
    assert judged(*scales)["scale"] == "gpu", "of equal budgets the last"


def test_a_budget_is_the_median_of_the_own_trainings_operations() -> None:
    """The run that only has a cost chose a learning rate."""
    found = at("long", 3)
    chooses = {"labels": {}, "seed": 9, "steps": 1}
    runs = {**found.content["runs"], "chooses": chooses}
    costs = {run: pd.DataFrame({"counted_flops": [1e9 * 10**place]}) for place, run in enumerate(runs)}
    held = stored.put("copying", "cost", costs, recipe=next(RECIPES))
    digest = stored.digest("copying", "cost", held)
    found.content["runs"] = runs
    found.content["planned"]["cost"], found.content["measurements"]["cost"] = list(runs), held
    found.content["digests"]["cost"] = digest
    assert found.operations(["m"]) == 1e10
    assert found.operations([]) == 0.0


def test_the_largest_scale_that_meets_the_needs_decides() -> None:
    needs = {"scale": "workstation", "seeds": 8}
    entry = judged(at("workstation", 8), at("gpu", 5), needs=needs)
    assert (entry["scale"], entry["verdict"], entry["n"]) == ("workstation", "reproduced", 8)
    assert entry["at"]["gpu"]["verdict"] == "not testable at this scale"
    entry = judged(at("workstation", 5), at("gpu", 6), needs=needs)
    assert (entry["scale"], entry["verdict"]) == ("gpu", "not testable at this scale")
    assert entry["indication"] == "reproduced"


def test_below_its_scale_a_claim_is_not_testable_but_its_numbers_are_kept() -> None:
    entry = judged(at("laptop", 6))
    assert (entry["verdict"], entry["indication"], entry["n"]) == ("not testable at this scale", "reproduced", 6)


def test_too_few_seeds_are_not_testable() -> None:
    assert judged(at("workstation", 4))["verdict"] == "not testable at this scale"


def of_three(found: Evidence) -> Finding:
    """(a) and (b) are reproduced, (c) contradicted."""
    values = found.table("m")["value"].to_numpy()
    return require_all_parts(
        {name: judge_above(values, limit) for name, limit in (("(a) one", 0), ("(b) two", 0.5), ("(c) no", 2))}
    )


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "verdict", lambda study, test: of_three)


def needing(**parts: dict[str, Any]) -> dict[str, Any]:
    return {"scale": "workstation", "seeds": 5, "parts": parts}


@pytest.mark.usefixtures("three")
def test_a_part_that_needs_more_is_not_testable_and_the_others_are_judged() -> None:
    found = judged(at("workstation", 5), needs=needing(b={"scale": "paper"}, c={"seeds": 6}))
    parts = {part["name"]: part for part in found["parts"]}
    assert [part["verdict"] for part in found["parts"]] == ["reproduced", judge.NOT_TESTABLE, judge.NOT_TESTABLE]
    assert (parts["(b) two"]["indication"], parts["(c) no"]["indication"]) == ("reproduced", "contradicted")
    assert (found["verdict"], found["value"]) == ("partly", 1.0), "for the claim needs all its parts"
    assert "indication" not in found
    assert {part for _, part, _ in correction._test_p_values(found)} == {"(a) one"}


@pytest.mark.usefixtures("three")
def test_a_part_may_need_less_than_its_claim() -> None:
    found = judged(at("laptop", 5), needs=needing(c={"scale": "laptop"}))
    assert (found["verdict"], found["scale"]) == ("contradicted", "laptop")


@pytest.mark.usefixtures("three")
def test_the_scale_that_leaves_fewest_parts_untested_decides() -> None:
    needs = {"scale": "workstation", "seeds": 8, "parts": {"c": {"seeds": 5}}}
    found = judged(at("workstation", 8), at("gpu", 5), needs=needs)
    assert (found["scale"], found["verdict"]) == ("workstation", "partly")
    assert found["at"]["gpu"]["verdict"] == "contradicted", "of the one part that five seeds can test"


@pytest.mark.usefixtures("three")
def test_without_a_testable_part_a_claim_is_not_testable() -> None:
    found = judged(at("laptop", 5), needs=needing(a={"scale": "paper"}))
    assert (found["verdict"], found["indication"]) == (judge.NOT_TESTABLE, "partly")


@pytest.mark.usefixtures("three")
def test_needs_of_a_part_that_is_not_there_are_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"002-4, needs.parts: there is no part \(d\), \(x\).*\(a\), \(b\), \(c\)"):
        judged(at("workstation", 5), needs=needing(x={"scale": "gpu"}, d={"seeds": 9}, a={"seeds": 9}))


def labelled(found: Evidence, **parts: str) -> Evidence:
    """The same evidence with the label `part` of some of its runs, by seed: `seed4="sweep"`; the others' is "main"."""
    for run, about in found.content["runs"].items():
        about["labels"]["part"] = parts.get(run.split("-")[-1], "main")
    return found


def test_a_claim_waits_only_for_the_runs_that_it_speaks_of() -> None:
    def found() -> Evidence:
        return labelled(at("workstation", 6, measured=5), seed5="sweep")

    assert judged(found())["verdict"] == "not run"
    entry = judged(found(), runs=["main"])
    assert (entry["verdict"], entry["n"], len(entry["runs"])) == ("reproduced", 5, 5)
    assert judged(found(), runs=["sweep"])["text"] == "0 of 1 runs at workstation"
    assert "needs runs of other, which are not all planned" in judged(found(), runs=["other"])["text"]


def test_missing_runs_are_counted() -> None:
    entry = judged(at("laptop", 3, measured=1), at("workstation", 8, measured=6))
    assert (entry["verdict"], entry["text"]) == ("not run", "6 of 8 runs at workstation")


def test_a_run_lacks_no_measure_that_is_not_planned_for_it() -> None:
    found = at("workstation", 8, measured=6)
    first, second, *_ = found.planned_runs("m")
    found.content["planned"]["n"] = [first, second]
    found.content["measurements"]["n"] = {first: 0}
    assert judged(found, measures=["m", "n"])["text"] == "5 of 8 runs at workstation", "the second lacks n"


def test_without_a_test_a_claim_is_not_run() -> None:
    assert judged(at("workstation", 5), test=None)["verdict"] == "not run"


@pytest.mark.parametrize("younger", [True, False, None])
def test_whether_a_rule_is_younger_than_its_results_is_what_was_selected(younger: bool | None) -> None:
    found = at("workstation", 5)
    found.content["younger"] = {CLAIM["id"]: younger}
    assert judged(found)["rule_changed_since"] is younger
    assert judged(at("workstation", 5))["rule_changed_since"] is None, "nothing is known"


def test_the_last_complete_set_is_judged_while_a_larger_plan_is_under_way() -> None:
    found = at("workstation", 8, measured=7)
    assert judged(found)["verdict"] == "not run"
    found.content["standing"] = {"m": {"m": found.planned_runs("m")[:5]}}
    entry = judged(found)
    assert (entry["verdict"], entry["n"], len(entry["runs"])) == ("reproduced", 5, 5)
    assert entry["extension"] == {"measured": 7, "planned": 8}
    assert "extension" not in judged(at("workstation", 8))


def test_a_set_that_the_plan_has_dropped_is_reported() -> None:
    found = at("workstation", 8, measured=7)
    found.content["dropped"] = {"m": ["x-seed0", "x-seed1", "x-seed2"]}
    text = "the set judged at workstation no longer counts: the plan has dropped x-seed0 and 2 more"
    assert judged(found)["text"] == f"7 of 8 runs at workstation; {text}"


def test_a_figure_is_drawn_from_the_last_complete_set() -> None:
    found = at("workstation", 8, measured=7)
    content = {"studies": {"copying": {"workstation": found.content}}}
    figure: Any = SimpleNamespace(measures=("m",), parts=(), also=(), compares=())
    assert evidence.largest_evidence("copying", figure, content) is None
    found.content["standing"] = {"m": {"m": found.planned_runs("m")[:5]}}
    drawn = evidence.largest_evidence("copying", figure, content)
    assert drawn is not None
    assert len(drawn.table("m")) == 5
    assert evidence.extension(drawn) == {"extension": {"measured": 7, "planned": 8}}


def test_an_older_recipe_is_marked() -> None:
    found = at("workstation", 5)
    held = found.content["measurements"]["m"]
    held["workstation-seed0"] = held["workstation-seed0"]._replace(older=True)
    assert judged(found)["older_recipe"]


def test_a_margin_inside_the_interval_is_undecided_and_beyond_it_contradicted() -> None:
    assert judged(at("workstation", 5, value=0.49))["verdict"] == "undecided"
    assert judged(at("workstation", 5, value=-0.1))["verdict"] == "contradicted"
    assert judged(at("workstation", 5, value=0.1))["verdict"] == "below margin"


def test_parts_carry_their_p(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = judge_better([1.0, 1.1, 0.9, 1.0, 1.05], 0.5)
    both = require_all_parts({"a": finding, "b": replace(finding, p=None)})
    monkeypatch.setattr(catalogue, "verdict", lambda study, test: lambda found: both)
    parts = judged(at("workstation", 5))["parts"]
    assert [part["p"] for part in parts] == [pytest.approx(finding.p, rel=1e-5), None]


def _unplanned_at(scale: str) -> Callable[[Evidence], Finding]:
    def t(found: Evidence) -> Finding:
        if found.scale == scale:
            raise NotPlannedError("needs runs of y, which are not planned")
        return judge_better(found.table("m")["value"].to_numpy(), 0.5)

    return t


def test_a_claim_whose_runs_are_not_planned_is_not_run_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "verdict", lambda study, test: _unplanned_at("workstation"))
    found = judged(at("workstation", 5))
    text = "needs runs of y, which are not planned at workstation"
    assert (found["verdict"], found["scale"], found["text"]) == ("not run", None, text)
    missing = judged(at("workstation", 5), at("gpu", 5, measured=2))
    assert missing["text"] == f"{text}; 2 of 5 runs at gpu"


def test_a_scale_that_plans_all_runs_is_judged_beside_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "verdict", lambda study, test: _unplanned_at("gpu"))
    found = judged(at("workstation", 5), at("gpu", 5))
    assert (found["verdict"], found["scale"], set(found["at"])) == ("reproduced", "workstation", {"workstation"})


def test_a_measurement_that_is_not_the_selected_one_is_reported() -> None:
    found = at("workstation", 5)
    found.content["digests"]["m"] = "0" * 16
    with pytest.raises(UserError, match=r"copying/m: its rows are not those that .* names\. Run"):
        found.table("m")


def test_labels_of_runs_become_columns() -> None:
    assert at("laptop", 3).table("m")["model"].tolist() == ["x"] * 3


def test_without_a_selection_the_message_names_the_command() -> None:
    with pytest.raises(UserError, match="allmlp select"):
        selection.read()


def taken(run: Run, columns: list[str], recipe: int = 1) -> None:
    """Put a measurement of a run's settings under another id into the store."""
    rows = {f"{run.name}-{recipe}": pd.DataFrame({name: [1] for name in columns})}
    stored.put("copying", "cost", rows, run.settings_digest, recipe)


def held(run: Run) -> SelectedMeasurement | None:
    return select._find_measurement(store.read_measure("copying", "cost"), run, "cost")


def test_an_older_measurement_of_the_same_settings_stands_in() -> None:
    run, columns = tiny.run("transformer"), list(catalogue.measure("copying", "cost").columns)
    taken(run, columns[1:])
    assert held(run) is None, "figures and verdicts of today need a column that it lacks"
    taken(run, columns)
    assert held(run) == SelectedMeasurement(f"{run.name}-1", 1, older=True)
    assert held(replace(run, steps=99)) is None


def test_of_several_older_measurements_the_one_by_the_newest_recipes_is_judged() -> None:
    run = tiny.run("transformer")
    for recipe in (2, 10, 1):
        taken(run, list(catalogue.measure("copying", "cost").columns), recipe)
    assert held(run) == SelectedMeasurement(f"{run.name}-10", 10, older=True)


def test_rows_that_stand_in_are_of_the_planned_run() -> None:
    found = at("workstation", 5)
    held = found.content["measurements"]["m"]
    found.content["measurements"]["m"] = {f"new-{run}": one._replace(older=True) for run, one in held.items()}
    found.content["planned"] = {"m": list(found.content["measurements"]["m"])}
    found.content["runs"] = {f"new-{run}": about for run, about in found.content["runs"].items()}
    assert found.table("m")["run"].tolist() == found.planned_runs("m")


def test_an_unmet_premise_is_undecided_by_a_field_and_its_tests_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_unmet(found: Evidence) -> Finding:
        finding = judge_better(found.table("m")["value"].to_numpy(), 0.5)
        return require_all_parts({"(a) one": finding, "(b) two": premise(finding, "it learnt nothing", holds=False)})

    monkeypatch.setattr(catalogue, "verdict", lambda study, test: one_unmet)
    with pytest.raises(UserError, match=r"claims.yaml, 002-4: its test has a premise \(it learnt nothing\). Name it"):
        judged(at("workstation", 5))
    entry = judged(at("workstation", 5), premise="it learnt")
    first, second = entry["parts"]
    assert (second["verdict"], second["premise_not_met"]) == ("undecided", "it learnt nothing")
    assert "premise_not_met" not in first
    assert (entry["verdict"], entry["text"]) == (
        "partly",
        "(a) one: reproduced; (b) two: undecided (premise not met: it learnt nothing)",
    )
    assert {p for (_, part, _), p in correction._test_p_values(entry).items() if part == "(b) two"} == {1.0}


def test_one_number_in_two_claims_is_tested_once_and_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    second = {**CLAIM, "id": "002-9", "claim": "the same", "same_as": "002-4"}
    monkeypatch.setattr(catalogue, "ledger", lambda study: [CLAIM, second])
    corrected: list[int] = []
    monkeypatch.setattr(judge, "correct", lambda entries: corrected.append(len(entries)))
    first, other = judge._judge_claims("copying", {"workstation": at("workstation", 5)})
    assert corrected == [1]
    assert (other["id"], other["claim"], other["same_as"]) == ("002-9", "the same", "002-4")
    assert all(other[key] == first[key] for key in ("verdict", "text", "p"))
    assert claims_json.counts([first, other]) == {"reproduced": 1}


def test_a_corrected_number_is_contradicted_and_called_corrected() -> None:
    entry = {"id": "a", "verdict": "contradicted", "corrected": True}
    assert claims_json.label(entry) == "corrected"
    assert claims_json.label({**entry, "verdict": "undecided"}) == "undecided"
    assert claims_json.counts([entry, {"id": "b", "verdict": "contradicted"}]) == {"corrected": 1, "contradicted": 1}


@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_a_claim_that_is_corrected_somewhere_names_an_erratum(study: str) -> None:
    ledger = {row["id"]: row for row in catalogue.ledger(study)}
    for entry in json.loads((PROJECT / "results/claims.json").read_text(encoding="utf-8"))["claims"]:
        if entry["id"] in ledger and any(one.get("corrected") for one in (entry, *entry.get("parts", ()))):
            assert ledger[entry["id"]]["errata"], entry["id"]
