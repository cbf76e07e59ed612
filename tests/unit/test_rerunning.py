"""Which runs `allmlp verify --rerun --claim` trains: those behind a verdict, and no search whose outcome is in git."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.pipeline.references import Reference
from allmlp.pipeline.states import rerunning
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from tests import stored, tiny

MOST = {"parameters": 1, "diverged": False, "seconds": 7200.0}


@pytest.fixture
def family(project: Path) -> dict[str, Run]:
    """A run that reads a parent, and searches over two others; both searched ones are measured, one without a loss."""
    one, two, parent = (tiny.run("transformer", steps=steps) for steps in (4, 5, 6))
    relatives = {run.id: run for run in (one, two, parent)}
    child = tiny.run("transformer", parent=parent.id, search=(one.id, two.id), relatives=relatives)
    losses = {one.id: 1.5, two.id: float("nan"), child.id: 1.0}
    rows = {name: pd.DataFrame([{**MOST, "validation_nats": loss}]) for name, loss in losses.items()}
    stored.put("copying", "cost", rows)
    return {"one": one, "two": two, "parent": parent, "child": child}


def test_a_search_with_an_outcome_in_git_is_not_trained_again(family: dict[str, Run], project: Path) -> None:
    reference = Reference(project, "committed")
    read = rerunning._runs_they_read([family["child"]], project / "apart", reference)
    assert {run.id for run in read} == {family["parent"].id, family["two"].id}
    brought = {run for run, _ in Reference(project / "apart", "").read_measure("copying", "cost").places}
    assert brought == {family["one"].id}, "what is trained again is measured again"


def test_the_hours_are_the_estimate_and_what_git_has_of_it(family: dict[str, Run], project: Path) -> None:
    child, reference = family["child"], Reference(project, "committed")
    plan = type("Planned", (), {"scale": "long"})
    *_, last = rerunning._forecast_lines("002-1", plan, [child], [child], [family["parent"]], reference, 2)  # type: ignore[arg-type]
    assert last == "trainings take about 1 min to 1.0 h on 2 cores; measures and tokens come on top"


def test_the_first_seeds_of_each_setting_are_the_same_ones() -> None:
    long = [replace(tiny.run("transformer"), seed=seed) for seed in (7, 5, 6)]
    short = [replace(tiny.run("gpt2"), seed=seed) for seed in (5, 6)]
    found = rerunning.select_seeds([*long, *short], 2)
    assert [(run.architecture, run.seed) for run in found] == [
        ("transformer", 5),
        ("transformer", 6),
        ("gpt2", 5),
        ("gpt2", 6),
    ]


@pytest.mark.parametrize("claim", ["002-99", "999-1", "", "2-5"])
def test_a_claim_that_is_none_is_refused(claim: str) -> None:
    with pytest.raises(UserError, match="no claim of that name"):
        catalogue.claim_study(claim)


def test_every_claim_has_its_study() -> None:
    assert all(
        catalogue.claim_study(row["id"]) == study for study in catalogue.STUDIES for row in catalogue.ledger(study)
    )


@pytest.mark.parametrize(
    ("at", "scale", "said"),
    [
        ({}, None, "no runs are behind it yet"),
        ({"laptop": {}}, "long", "--scale can be laptop"),
        (None, None, "does not have it yet"),
    ],
)
def test_a_claim_without_runs_at_a_scale_says_which_there_are(
    at: dict[str, object] | None, scale: str | None, said: str, tmp_path: Path
) -> None:
    entry = {"id": "002-1", "verdict": "not run", "scale": None, "text": "0 of 9 runs", "at": at}
    content = {"claims": [] if at is None else [entry], "sets": {}}
    paths.write_atomically(tmp_path / paths.CLAIMS, paths.json_lines(content))
    with pytest.raises(UserError, match=said):
        rerunning._entry(Reference(tmp_path, "committed"), "002-1", scale)
