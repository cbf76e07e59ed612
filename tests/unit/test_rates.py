"""The learning rates behind a verdict: found in the plan and the store, named in its text, and at no edge."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allmlp.judging import claims_json, rates, selection
from allmlp.judging.complete_runs import Unit
from allmlp.judging.evidence import Evidence, evidence_by_overlay, evidence_by_scale
from allmlp.judging.rates import RateSearch
from allmlp.judging.rules import part_rows
from allmlp.spec import catalogue
from allmlp.studies.mixers.parts import SETTING, search_rows

GRID = [1e-3, 2e-3, 4e-3]
INSIDE = RateSearch(GRID, [3.0, 2.0, 2.5], 100, 3, 2e-3, False, "nats per token")
EDGE = INSIDE._replace(results=[3.0, 2.0, math.inf], chosen=4e-3, edge=True)


def evidence(**searches: RateSearch) -> Evidence:
    """Two runs of each model, `flat` and `llama-4`, with these searches, and one run of each search."""
    models = [model for model in searches for _ in range(2)]
    runs = {
        f"{model}-{n}": {"labels": {"variant": model, "part": "training", "size": "base"}, "seed": n, "steps": 9}
        for n, model in enumerate(models)
    }
    runs |= {
        f"{model}-search": {"labels": {"variant": model, "part": "search"}, "seed": 9, "steps": 9} for model in searches
    }
    content = {
        "runs": runs,
        "planned": {"learning_curve": list(runs)},
        "measurements": {"learning_curve": dict.fromkeys(runs)},
        "searches": [list(one) for one in searches.values()],
        "searched": {str(n): list(searches).index(model) for n, model in enumerate(models)},
    }
    return Evidence("mixers", "long", content)


def claim(compares: Any) -> dict[str, Any]:
    return {"measures": ["learning_curve"], "compares": compares}


def entry(*verdicts: str) -> dict[str, Any]:
    """An entry of claims.json with a part for each verdict, or, of one verdict, without parts."""
    rests = {"of": [], "tolerated": 0, "refuting": 1, "guards": []}
    if len(verdicts) == 1:
        return {"verdict": verdicts[0], "text": "x", "parts": [], "rests": {"": rests}}
    names = [f"({letter}) one" for letter, _ in zip("abc", verdicts, strict=False)]
    parts = [
        {"name": name, "verdict": verdict, "text": "x", "p": 0.01, "p_against": 0.9}
        for name, verdict in zip(names, verdicts, strict=True)
    ]
    return {"verdict": "partly", "text": "y", "value": 1.0, "parts": parts, "rests": dict.fromkeys(names, rests)}


def test_a_search_without_its_losses_says_so() -> None:
    searched = EDGE._replace(results=[None, None, None])
    assert searched.text("flat") == "flat: 0.004 (the losses of its search were not kept, at an edge of 0.001 to 0.004)"


def test_a_verdict_names_the_rates_that_it_rests_on() -> None:
    found = rates.withhold(entry("reproduced"), claim(["flat base"]), evidence(flat=INSIDE))
    assert found["verdict"] == "reproduced"
    assert found["text"] == (
        "x; learning rates, with nats per token of their searches: flat base: 0.002 (2; 3 at 0.001, 2.5 at 0.004)"
    )


@pytest.mark.parametrize("verdict", ["reproduced", "contradicted"])
def test_a_verdict_on_a_rate_at_an_edge_is_withheld_and_says_so(verdict: str) -> None:
    found = rates.withhold(entry(verdict), claim(["flat", "llama-4"]), evidence(flat=INSIDE, **{"llama-4": EDGE}))
    assert found["verdict"] == "undecided"
    reason = "the learning rate is at an edge of its search, or not known (llama-4)"
    assert found["text"].endswith(
        f"llama-4: 0.004 (diverged; 2 at 0.002, at an edge of 0.001 to 0.004); not {verdict}: {reason}"
    )
    assert found["rests"][""]["guards"] == [reason]


def test_a_rate_that_nobody_knows_withholds_too() -> None:
    unknown = INSIDE._replace(chosen=None)
    assert rates.withhold(entry("reproduced"), claim(["flat"]), evidence(flat=unknown))["verdict"] == "undecided"


def test_only_the_parts_that_compare_the_model_are_withheld() -> None:
    both = evidence(flat=INSIDE, **{"llama-4": EDGE})
    found = rates.withhold(entry("reproduced", "reproduced"), claim({"a": ["flat"], "b": ["llama-4"]}), both)
    assert [part["verdict"] for part in found["parts"]] == ["reproduced", "undecided"]
    assert found["verdict"] == "partly"
    assert [bool(of["guards"]) for of in found["rests"].values()] == [False, True]


def test_a_model_without_a_search_and_a_claim_that_compares_none_stay() -> None:
    before = entry("reproduced")
    assert rates.withhold(before, claim(["hybrid"]), evidence(flat=EDGE)) == before
    assert rates.withhold(before, claim([]), evidence(flat=EDGE)) == before
    assert rates.withhold(before, claim(None), evidence(flat=EDGE)) == before


def test_rates_that_no_search_chose_are_said_and_withhold_nothing() -> None:
    given = evidence(flat=INSIDE, **{"llama-4": EDGE})
    given.content["searched"] = {}
    for run, about in given.content["runs"].items():
        about["learning_rate"] = 4e-3 if run == "llama-4-2" else 2e-3
    found = rates.withhold(entry("reproduced"), claim(["flat"]), given)
    assert (found["verdict"], found["text"]) == ("reproduced", "x; learning rate, not searched: 0.002 for all")
    both = rates.withhold(entry("reproduced", "reproduced"), claim({"b": ["flat", "llama-4"]}), given)
    assert [part["text"] for part in both["parts"]] == [
        "x",
        "x; learning rate, not searched: flat 0.002, llama-4 0.002 and 0.004",
    ]


def test_several_searches_of_one_name_are_told_apart() -> None:
    two = evidence(flat=INSIDE, **{"llama-4": EDGE})
    assert set(rates.claim_searches(claim(["training"]), two)[""]) == {"training flat", "training llama-4"}


def every_evidence(study: str) -> list[Evidence]:
    content = selection.read()
    return [*evidence_by_scale(study, content).values(), *evidence_by_overlay(study, content).values()]


UNSEARCHED = ("language", "quadrature")  # studies with one rate for all


@pytest.mark.parametrize("study", [study for study in catalogue.STUDIES if catalogue.has_runs(study)])
def test_every_claim_on_searched_runs_says_which_models_it_compares(study: str, committed_results: None) -> None:
    searches = [(found, rates.study_searches(found)) for found in every_evidence(study)]
    assert any(searched for _, searched in searches) == (study not in UNSEARCHED)
    for found, searched in searches:
        for one in catalogue.ledger(study):
            runs = {run for measure in one["measures"] for run in found.planned_runs(measure)}
            assert one.get("compares") is not None or not runs & searched.keys(), f"{one['id']} at {found.scale}"


def test_no_committed_verdict_rests_on_an_edge_of_a_search(committed_results: None) -> None:
    judged = {entry["id"]: entry for entry in claims_json.read()["claims"]}
    seen = 0
    for study in filter(catalogue.has_runs, catalogue.STUDIES):
        for found in every_evidence(study):
            for one in catalogue.ledger(study):
                entry = judged[one["id"]]
                at = entry.get("elsewhere", {}).get(found.recorded) if found.recorded else entry["at"].get(found.scale)
                if not at or not found.is_complete(one["measures"]):
                    continue
                behind = rates.claim_searches(one, found)
                for part in at.get("parts") or [{**at, "name": ""}]:
                    of = behind.get(rates.needs.letter(part["name"]), behind.get("", {}))
                    if any(search.edge or search.chosen is None for search in of.values()):
                        seen += 1
                        assert part["verdict"] not in rates.WITHHELD, (one["id"], found.scale, part["name"])
    assert seen, "no part rests on an edge: then this test holds nothing, and may go"


def arrivals(scale: str) -> pd.DataFrame:
    """The comparison of study 002 at a scale, one row per run: does it reach 99 %, and in how many iterations?"""
    found = evidence_by_scale("copying", selection.read())[scale].complete_set(
        Unit(("iterations_to_99",), ("comparison",))
    )
    columns = ["model", "string_length", "reached", "iterations", "budget"]
    return found.table("iterations_to_99")[columns] if found else pd.DataFrame(columns=columns)


def test_no_searched_rate_does_worse_than_the_study_s_own(committed_results: None) -> None:
    searched, own = (arrivals(scale).set_index(["model", "string_length"]) for scale in ("long", "workstation"))
    if not (shared := set(searched.index) & set(own.index)):
        pytest.skip("the runs of study 002 at long are not all measured")
    for setting in shared:
        tuned, untuned = searched.loc[[setting]], own.loc[[setting]]
        assert tuned["reached"].mean() >= untuned["reached"].mean(), setting
        common = min(tuned["budget"].min(), untuned["budget"].min())  # a longer budget censors later
        first, second = (np.log2(of["iterations"].clip(1, common).astype(float)) for of in (tuned, untuned))
        assert first.mean() <= second.mean() + 2 * math.hypot(first.sem(), second.sem()), setting


def test_where_the_mean_of_several_seeds_chose_the_criterion_would_choose_the_same(committed_results: None) -> None:
    """So that `criterion_of` names every model of study 001 at `long` whose rates tie, and no more."""
    found = evidence_by_scale("mixers", selection.read())["long"]
    cost = part_rows(found.table("cost"), "search")
    assert cost.groupby([*SETTING[:-1], "learning_rate"])["seed"].nunique().min() >= 3
    given, ruled = search_rows(cost), search_rows(cost.assign(criterion="held_out_nats"))
    assert given[given["chosen"]]["rate"].tolist() == ruled[ruled["chosen"]]["rate"].tolist()
