"""What notebooks get: trained runs and measurements of this very project."""

from pathlib import Path

import pytest

import allmlp
from allmlp.common.errors import UserError
from allmlp.judging import selection
from allmlp.plan.plan import load_plan
from tests.conftest import PROJECT

pytestmark = pytest.mark.usefixtures("in_project")


def test_measurements_are_the_selected_rows_of_every_scale_and_overlay_with_labels() -> None:
    rows = allmlp.table("language", "loss_curve")
    selected = selection.read()["studies"]["language"]
    expected = {(name, run) for name, at in selected.items() for run in at["measurements"].get("loss_curve", {})}
    named = rows.recorded.where(rows.recorded != "", rows.scale)
    found = {*zip(named, rows.run, strict=True)}
    assert found <= expected
    assert {run for _, run in found} == {run for _, run in expected}
    assert len(found) == rows.run.nunique(), "a run of several scales is there once"
    assert {"step", "validation_nats", "corpus", "d_model"} <= {*rows}


def test_a_study_or_measure_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UserError, match=r"no study 'langage'\. Did you mean 'language'"):
        allmlp.table("langage", "loss_curve")
    with pytest.raises(UserError, match=r"language: no measurements 'losses'\. There are: .*loss_curve"):
        allmlp.table("language", "losses")


def test_a_run_is_found_by_the_end_of_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked in an empty folder: `make reproduce` leaves this run's weights in the project's."""
    monkeypatch.setenv("ALLMLP_PROJECT", str(PROJECT))
    monkeypatch.setenv("ALLMLP_DIRECTORY", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run = next(iter(load_plan().runs))
    with pytest.raises(UserError, match=f"{run.id}: is not here"):
        allmlp.load(run.id.rpartition("-")[2])


def test_elsewhere_it_says_where_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLMLP_PROJECT", str(PROJECT))
    monkeypatch.chdir(tmp_path)
    for asked in (lambda: allmlp.load("any"), lambda: allmlp.table("language", "loss_curve")):
        with pytest.raises(UserError, match=r"is not the folder of the results\. First `os\.chdir\("):
            asked()


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lod'"):
        _ = allmlp.lod  # type: ignore[attr-defined]
