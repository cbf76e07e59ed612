"""Which scale a claim is judged at, and what is said where it cannot be."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from allmlp import measuring, paths, studies
from allmlp.errors import UserError
from allmlp.report import evidence, judge
from allmlp.report.evidence import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.rules import NotPlannedError
from tests import tiny

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


def at(scale: str, seeds: int, measured: int | None = None, value: float = 1.0, folder: Path = Path("m")) -> Evidence:
    """Evidence of one scale: `measured` of `seeds` planned runs, each with one row."""
    runs = {f"{scale}-seed{seed}": {"labels": {"model": "x"}, "seed": seed, "steps": 1} for seed in range(seeds)}
    files: dict[str, Any] = {}
    for run in list(runs)[: seeds if measured is None else measured]:
        folder.mkdir(exist_ok=True)
        path = folder / f"{run}.parquet"
        table = pa.table({"run": [run], "seed": [runs[run]["seed"]], "value": [value + 0.01 * runs[run]["seed"]]})
        about = json.dumps({"rules": {CLAIM["id"]: measuring.rule(CLAIM)}})
        pq.write_table(table.replace_schema_metadata({"allmlp": about}), path)
        files[run] = {"file": str(path), "sha256": paths.file_sha256(path), "older_recipe": False}
    return Evidence("copying", scale, {"runs": runs, "planned": {"m": list(runs)}, "measurements": {"m": files}})


@pytest.fixture(autouse=True)
def _a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class Verdicts:
        @staticmethod
        def t(found: Evidence) -> Finding:
            return better(found.table("m")["value"].to_numpy(), found.margin["nats"], unit="nats")

    monkeypatch.setattr(studies, "module", lambda study, name: Verdicts)


def judged(*found: Evidence, **changes: Any) -> dict[str, Any]:
    return judge.judge_claim("copying", {**CLAIM, **changes}, {e.scale: e for e in found})


def test_the_largest_complete_scale_decides() -> None:
    entry = judged(at("laptop", 3), at("workstation", 5), at("gpu", 5, measured=4))
    assert (entry["scale"], entry["verdict"], entry["n"]) == ("workstation", "reproduced", 5)
    assert set(entry["at"]) == {"laptop", "workstation"}


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


def test_missing_runs_are_counted() -> None:
    entry = judged(at("laptop", 3, measured=1), at("workstation", 8, measured=6))
    assert (entry["verdict"], entry["text"]) == ("not run", "6 of 8 runs at workstation")


def test_without_a_test_a_claim_is_not_run() -> None:
    assert judged(at("workstation", 5), test=None)["verdict"] == "not run"


def test_a_rule_that_changed_after_the_measurement_is_marked() -> None:
    assert not judged(at("workstation", 5))["rule_changed_since"]
    assert judged(at("workstation", 5), margin={"nats": 0.4})["rule_changed_since"]
    assert not judged(at("workstation", 5), reason="better words")["rule_changed_since"]


def test_an_older_recipe_is_marked() -> None:
    found = at("workstation", 5)
    next(iter(found.content["measurements"]["m"].values()))["older_recipe"] = True
    assert judged(found)["older_recipe"]


def test_a_margin_inside_the_interval_is_undecided_and_beyond_it_contradicted() -> None:
    assert judged(at("workstation", 5, value=0.49))["verdict"] == "undecided"
    assert judged(at("workstation", 5, value=0.1))["verdict"] == "contradicted"


def entry(name: str, verdict: str, p: float | None = 0.5, **parts: tuple[str, float | None]) -> dict[str, Any]:
    """A claim as judged at workstation; `parts`: name -> verdict and p."""
    listed = [{"name": part, "verdict": said, "text": "t", "p": value} for part, (said, value) in parts.items()]
    held = sum(part["verdict"] == "reproduced" for part in listed)
    result = {"verdict": verdict, "value": float(held), "text": "t", "p": p, "parts": listed}
    return {"id": name, "scale": "workstation", "at": {"workstation": dict(result)}, **result}


def test_holm_takes_back_what_does_not_survive_among_many() -> None:
    entries = [entry(str(i), "undecided") for i in range(9)]
    entries += [entry("good", "reproduced", 1e-4), entry("lucky", "reproduced", 0.02)]
    judge._correct(entries)
    assert [found["verdict"] for found in entries[-2:]] == ["reproduced", "undecided"]
    assert [found["holm"] for found in entries[-2:]] == [True, False]
    assert "does not survive Holm" in entries[-1]["text"]
    assert entries[-1]["at"]["workstation"]["verdict"] == "undecided"


def test_holm_counts_parts_and_recombines_the_claims_that_lose_one() -> None:
    both = entry("both", "reproduced", None, a=("reproduced", 1e-6), b=("reproduced", 0.02), c=("reproduced", None))
    one = entry("one", "partly", None, a=("reproduced", 0.02), b=("contradicted", 0.99), c=("undecided", None))
    judge._correct([both, one])  # of four tests
    assert (both["verdict"], one["verdict"]) == ("partly", "contradicted")
    assert [part["verdict"] for part in both["parts"]] == ["reproduced", "undecided", "reproduced"]
    assert [part["p"] for part in both["parts"]] == [1e-6, 0.02, None]
    assert "does not survive Holm" in both["parts"][1]["text"]
    assert (both["value"], both["text"]) == (2.0, "a: reproduced; b: undecided; c: reproduced")
    assert both["at"]["workstation"]["parts"] == both["parts"]
    assert (both["holm"], one["holm"]) == (False, False)


def test_holm_leaves_out_what_is_not_judged_at_its_needs() -> None:
    entries = [{**entry(str(i), judge.NOT_TESTABLE), "indication": "reproduced"} for i in range(9)]
    entries += [{"id": "none", "verdict": "not run", "scale": None, "at": {}, "text": "t"}]
    entries += [entry("good", "reproduced", 0.02)]
    judge._correct(entries)
    assert entries[-1]["verdict"] == "reproduced"
    assert not any("holm" in found for found in entries[:-1])


def test_parts_carry_their_p(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = better([1.0, 1.1, 0.9, 1.0, 1.05], 0.5)
    test = SimpleNamespace(t=lambda found: whole({"a": finding, "b": replace(finding, p=None)}))
    monkeypatch.setattr(studies, "module", lambda study, name: test)
    parts = judged(at("workstation", 5))["parts"]
    assert [part["p"] for part in parts] == [pytest.approx(finding.p, rel=1e-5), None]


def _unplanned_at(scale: str) -> SimpleNamespace:
    def t(found: Evidence) -> Finding:
        if found.scale == scale:
            raise NotPlannedError("needs runs of y, which are not planned")
        return better(found.table("m")["value"].to_numpy(), 0.5)

    return SimpleNamespace(t=t)


def test_a_claim_whose_runs_are_not_planned_is_not_run_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "module", lambda study, name: _unplanned_at("workstation"))
    found = judged(at("workstation", 5))
    text = "needs runs of y, which are not planned at workstation"
    assert (found["verdict"], found["scale"], found["text"]) == ("not run", None, text)
    missing = judged(at("workstation", 5), at("gpu", 5, measured=2))
    assert missing["text"] == f"{text}; 2 of 5 runs at gpu"


def test_a_scale_that_plans_all_runs_is_judged_beside_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "module", lambda study, name: _unplanned_at("gpu"))
    found = judged(at("workstation", 5), at("gpu", 5))
    assert (found["verdict"], found["scale"], set(found["at"])) == ("reproduced", "workstation", {"workstation"})


def test_a_measurement_that_is_not_the_selected_one_is_said() -> None:
    found = at("workstation", 5)
    path = Path(next(iter(found.content["measurements"]["m"].values()))["file"])
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(UserError, match="is missing or not the file that"):
        found.table("m")


def test_labels_of_runs_become_columns() -> None:
    assert at("laptop", 3).table("m")["model"].tolist() == ["x"] * 3


def test_without_a_selection_the_way_out_is_said() -> None:
    with pytest.raises(UserError, match="allmlp select"):
        evidence.selected()


def test_an_older_measurement_of_the_same_settings_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from allmlp import recipes
    from allmlp.report.select import older

    run = tiny.run("transformer")
    path = Path(run.measurements["cost"])
    path.parent.mkdir(parents=True)
    about = {"allmlp": json.dumps({"settings": run.settings_digest, "recipes": [1, 1, 1, 1]})}

    def measured(columns: list[str]) -> None:
        table = pa.Table.from_pandas(pd.DataFrame({name: [1] for name in columns}))
        pq.write_table(table.replace_schema_metadata(about), path)

    columns = list(studies.measure("copying", "cost").COLUMNS)
    measured(columns)
    original = recipes.of
    monkeypatch.setattr(recipes, "of", lambda module: original(module) + 1)
    raised = replace(run)
    assert raised.measurements["cost"] != run.measurements["cost"]
    assert older(raised, "cost") == path
    assert older(replace(raised, steps=99), "cost") is None
    measured(columns[1:])
    assert older(raised, "cost") is None, "figures and verdicts of today need a column that it lacks"
