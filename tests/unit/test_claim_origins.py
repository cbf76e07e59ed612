"""How many trainings have an origin that git's history holds: counted once, for a claim and for the report."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from allmlp.judging import origins, selection
from allmlp.judging.origins import OriginCount, count
from allmlp.measurements import origins as records
from allmlp.measurements.origins import Repository
from tests import stored, tiny

TREE = "a" * 40
HERE = Repository(Path(), {TREE: ["1" * 40]}, frozenset(["1" * 40]))
RECORDS = {
    "known": f"Python 3.11, src {TREE} clean",
    "known-too": f"Python 3.11, src {TREE} no repository, recipes {'b' * 16}",
    "other": f"Python 3.11, src {'c' * 40} changed",
    "old": "Python 3.11, commit unknown",
    "lost": "",
}


@pytest.fixture
def content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A scale with a run for each record, one without training, and one that is not measured, as it is selected."""
    monkeypatch.chdir(tmp_path)
    runs = [tiny.run("transformer", seed=seed) for seed in range(len(RECORDS))]
    runs += [tiny.run("transformer", seed=8, steps=0, keep=()), tiny.run("transformer", seed=9)]
    said = [*RECORDS.values(), RECORDS["known"]]
    rows = {run.id: pd.DataFrame({"versions": [text]}) for run, text in zip(runs, said, strict=False)}
    held = stored.put("copying", "cost", rows)
    packed = selection.pack_runs(runs, {"cost": held}, {}, begun=True)
    packed |= origins.known_origins("copying", [run.id for run in runs], held, HERE)
    return selection.unpack(packed)


def test_only_trainings_whose_sources_a_commit_holds_are_known(content: dict[str, Any]) -> None:
    assert count([content]) == OriginCount(known=2, runs=len(RECORDS))
    runs = list(content["runs"])
    assert origins.claim_origins(content, runs[1:3]) == {"origin": {"known": 1, "runs": 2}}
    assert origins.claim_origins(content, runs[-2:]) == {"origin": {"known": 0, "runs": 0}}, "nothing trained"


def test_a_run_of_two_scales_counts_once(content: dict[str, Any]) -> None:
    selected = {"studies": {"copying": {"laptop": content, "workstation": content}, "language": {}}}
    assert origins.report_origins(selected) == count([content])


def test_without_a_history_nothing_is_said(content: dict[str, Any]) -> None:
    assert origins.known_origins("copying", content["runs"], {}, None) == {}
    unasked = {**content, "known": None}
    assert count([content, unasked]) == OriginCount(known=None, runs=len(RECORDS))


def test_every_record_that_is_written_from_now_on_is_known_where_its_tree_is_in_a_commit() -> None:
    """That of this very process, as a training writes it."""
    run, here = tiny.run("transformer"), records.process_sources()
    found = records.read(f"Python 3.11, {records.record([here], run.modules)}")
    assert Repository(Path(), {found.made[0].tree: ["1" * 40]}, frozenset()).has_sources(found)
