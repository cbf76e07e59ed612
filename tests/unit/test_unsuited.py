"""Measurements that no rule and no figure was written for: in the project an error, in a user's own report left out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from allmlp.common.errors import UserError
from allmlp.judging import evidence, judge, selection
from allmlp.judging.correction import NOT_RUN
from allmlp.judging.evidence import Evidence
from allmlp.report import draw, exhibit_files, tabulate
from allmlp.spec import catalogue
from tests.conftest import PROJECT

KNOWN = ("step", "seed")  # what a run is called by, not what came out
table = Evidence.table


def spoilt(kind: str):  # type: ignore[no-untyped-def]
    """The rows of a measure with other numbers: as of runs that all diverged, with gaps, or without any difference."""

    def rows(found: Evidence, measure: str) -> pd.DataFrame:
        found_rows, draws = table(found, measure), np.random.default_rng(0)
        numbers = [name for name in found_rows.select_dtypes("float") if name not in KNOWN]
        shape = (len(found_rows), len(numbers))
        gaps = {"nothing": np.ones(shape, bool), "gaps": draws.random(shape) < 0.5, "equal": np.zeros(shape, bool)}
        shown = found_rows[numbers] * (kind != "equal")
        return found_rows.assign(**shown.mask(gaps[kind]))

    return rows


@pytest.fixture
def results(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the committed measurements, where figures and tables are to be made."""
    (here / "results").mkdir()
    for name in ("measurements", "selected.json"):
        (here / "results" / name).symlink_to(PROJECT / "results" / name)
    monkeypatch.setattr(exhibit_files, "is_current", lambda file, digest: False)
    return here


@pytest.fixture
def users(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as a user's own."""
    content = {**selection.read(), "overlays": ["my.yaml"]}
    monkeypatch.setattr(selection, "read", lambda: content)
    return results


@pytest.mark.slow
@pytest.mark.usefixtures("committed_results", "users")
@pytest.mark.parametrize("kind", ["nothing", "gaps", "equal"])
def test_no_claim_stops_the_judging_of_a_users_measurements(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evidence, "table", spoilt(kind))
    for study in catalogue.STUDIES:
        entries = judge.judge_study(study)
        assert [entry["id"] for entry in entries] == [claim["id"] for claim in catalogue.ledger(study)]


@pytest.mark.slow
@pytest.mark.usefixtures("committed_results")
@pytest.mark.parametrize("study", list(catalogue.STUDIES))
def test_no_figure_or_table_stops_a_users_report(study: str, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evidence, "table", spoilt("nothing"))
    work = draw.work(study, png=True)
    work.finish([task() for task in work.tasks])
    assert list((users / "work/figures" / study).glob("*.png"))
    tabulate._write_study_tables(study)
    assert list((users / "results/tables" / study).glob("*.csv"))


@pytest.mark.usefixtures("committed_results")
def test_what_a_figure_and_a_rule_cannot_read_is_named(
    users: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Evidence, "table", spoilt("nothing"))
    job = next(job for job in draw.jobs("crossover", png=True)[0] if job.figure == "matrix")
    tables = tabulate._write_study_tables("crossover")
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: crossover: distances ")]
    assert len(said) == 1
    assert "families.py:" in said[0]
    assert said[0].endswith(": left out")
    assert "distances" not in {file.stem for file in tables}
    assert job.file.suffix == ".png"
    claims = {entry["id"]: entry for entry in judge.judge_study("crossover")}
    assert claims["all-own-1"]["verdict"] == NOT_RUN
    assert "cannot be judged from these measurements: all-own-1" in claims["all-own-1"]["text"]


@pytest.mark.usefixtures("committed_results", "results")
def test_in_the_project_it_is_an_error_that_names_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evidence, "table", spoilt("nothing"))
    with pytest.raises(UserError, match=r"^all-own-1: its test .* failed on .*families\.py:\d+\): .* Mend it"):
        judge.judge_study("crossover")
    with pytest.raises(UserError, match=r"^crossover: costs cannot be made of what is measured at .*tables\.py:\d+"):
        tabulate._write_study_tables("crossover")
    assert evidence.evidence_by_scale("crossover")
