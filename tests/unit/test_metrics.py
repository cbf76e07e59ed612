"""results/metrics.json: the numbers of README and the report, for DVC."""

import json
import re

import pandas as pd
import pytest

from allmlp.report import metrics, readme, run_counts, tabulate
from allmlp.report.last_mile import RESULTS
from tests.conftest import PROJECT


def test_the_share_of_levelled_trainings_counts_a_run_once_and_an_unknown_one_as_not_levelled() -> None:
    rows = [
        ("one", "a", "levelled"),
        ("one", "a", "levelled"),  # of two scales
        ("one", "b", "unknown"),
        ("one", "c", ""),  # untrained
        ("two", "d", "moving"),
    ]
    table = pd.DataFrame(rows, columns=["study", "run", "levelled"])
    assert run_counts.levelled_shares(table) == {"one": 0.5, "two": 0.0}
    assert run_counts.levelled_shares(pd.DataFrame()) == {}


def test_the_numbers_in_git_are_those_of_the_results_and_of_the_page(
    committed_last_mile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    found = json.loads(metrics.METRICS.read_text(encoding="utf-8"))
    assert found == metrics.content()
    assert metrics.METRICS.name in RESULTS
    assert 20 <= len(list(_numbers(found))) <= 60
    table = readme.pieces()["verdicts"].splitlines()[2:]
    of_readme = sum(int(number) for row in table for number in re.findall(r"(?<=\| ) *(\d+)(?= \|)", row))
    assert sum(found["claims"]["all"].values()) == of_readme


def _numbers(found: object) -> list[float]:
    return [n for value in found.values() for n in _numbers(value)] if isinstance(found, dict) else [found]  # type: ignore[list-item]


def test_a_report_of_nothing_has_its_columns_and_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    with (PROJECT / "results/tables/runs.csv").open() as lines:
        header = lines.readline().strip().split(",")
    monkeypatch.setattr(tabulate.selection, "read", lambda: {"studies": {}, "recorded": {}, "corpora": {}})
    monkeypatch.setattr(tabulate.evidence, "evidence_by_scale", lambda *_: {})
    monkeypatch.setattr(tabulate.evidence, "evidence_by_overlay", lambda *_: {})
    rows = tabulate.runs_table()
    assert list(rows) == header
    assert run_counts.levelled_shares(rows) == {}
