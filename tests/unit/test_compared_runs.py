"""On which texts, and after how many steps and operations, a part of a claim holds."""

from typing import Any

import pandas as pd
import pytest

from allmlp.judging import compared_runs, evidence, selection
from allmlp.judging.evidence import Evidence
from tests import tiny

RUNS = {  # run -> variant, corpus, steps, operations
    "flat-0": ("flat", "stories", 400, 4e9),
    "flat-1": ("flat", "stories", 400, 5e9),
    "llama-0": ("llama-4", "stories", 600, 9e9),
    "other-0": ("gelu", "english", 20, 1e6),
    "search-0": ("flat", "stories", 7, 1e3),
    "untrained-0": ("flat", "", 0, 0.0),
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Evidence:
    """Runs of three models on two texts, a search, and a run without training."""
    runs = {
        name: {"labels": {"variant": variant, "part": "training"}, "corpus": corpus, "steps": steps, "seed": 0}
        for name, (variant, corpus, steps, _) in RUNS.items()
    }
    runs["search-0"]["labels"]["part"] = "search"
    planned = {"learning_curve": [name for name in runs if name != "search-0"], "cost": list(runs)}
    cost = pd.DataFrame({"run": list(RUNS), "counted_flops": [of[-1] for of in RUNS.values()]})
    monkeypatch.setattr(evidence.Evidence, "table", lambda _, measure: {"cost": cost}[measure])
    measurements = {measure: dict.fromkeys(of) for measure, of in planned.items()}
    return Evidence("mixers", "long", {"runs": runs, "planned": planned, "measurements": measurements})


def claim(compares: Any) -> dict[str, Any]:
    return {"measures": ["learning_curve"], "compares": compares}


EVERY = {"corpora": ["english", "stories"], "steps": [20, 600], "operations": [1e6, 9e9]}
BOTH = {"corpora": ["stories"], "steps": [400, 600], "operations": [4e9, 9e9]}


def test_a_part_has_the_trainings_of_the_models_that_it_compares(found: Evidence) -> None:
    said = compared_runs.budgets(claim({"a": ["flat training", "llama-4"], "b": ["gelu"], "c": ["none"]}), found)
    english = {"corpora": ["english"], "steps": [20, 20], "operations": [1e6, 1e6]}
    assert said == {"": EVERY, "a": BOTH, "b": english}, "searches and untrained runs are no trainings of a claim"


def test_a_claim_without_parts_has_those_of_its_models_and_else_all(found: Evidence) -> None:
    assert compared_runs.budgets(claim(["flat", "llama-4"]), found) == {"": BOTH}
    assert compared_runs.budgets(claim([]), found) == compared_runs.budgets(claim(None), found) == {"": EVERY}
    assert compared_runs.budgets({"measures": ["weights"], "compares": []}, found) == {}


def test_a_verdict_is_about_the_trainings_that_its_judged_parts_compare(found: Evidence) -> None:
    named = claim({"a": ["flat training", "llama-4"], "b": ["gelu"]})
    every = ["flat-0", "flat-1", "llama-0", "other-0"]
    assert compared_runs.compared_trainings(named, found, ["a"]) == every[:3]
    assert compared_runs.compared_trainings(named, found, ["a", "b"]) == every
    assert compared_runs.compared_trainings(named, found, ["a", "c"]) == every[:3], "(c) compares no trainings"
    assert compared_runs.compared_trainings(named, found, ["c"]) == every
    assert compared_runs.compared_trainings(claim(["flat"]), found, ["a", "c"]) == every[:2], (
        "every part compares the same"
    )
    assert compared_runs.compared_trainings(claim(None), found, [""]) == every
    assert compared_runs.compared_trainings(claim(["none"]), found, [""]) == every


def test_the_text_of_the_weights_that_a_run_begins_from_counts_too() -> None:
    parent = tiny.run("transformer", corpus="classics")
    of_parent = {"parent": parent.id, "relatives": {parent.id: parent}, "continues": True}
    tuned = tiny.run("transformer", seed=2, corpus="shakespeare", **of_parent)
    longer = tiny.run("transformer", seed=3, corpus="classics", **of_parent)
    runs = [parent, tuned, longer]
    content = selection.unpack(selection.pack_runs(runs, {}, {}, begun=True))
    at = Evidence("triangular", "long", content)
    assert [at.corpora_of([run.id]) for run in runs] == [["classics"], ["classics", "shakespeare"], ["classics"]]
