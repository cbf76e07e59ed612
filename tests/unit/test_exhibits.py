"""Figures and tables of made-up measurements: of many seeds and of one, with the same bytes each time."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from allmlp.common.errors import UserError
from allmlp.judging.evidence import sources
from allmlp.spec import catalogue
from allmlp.spec.exhibits import Exhibit, Kind, study_exhibits, table
from tests import exhibits
from tests.conftest import PROJECT
from tests.unit import known_addition, known_copying, known_crossover, known_language, known_triangular

KNOWN = {
    "language": known_language.tables,
    "copying": known_copying.tables,
    "quadrature": known_addition.measured,
    "triangular": known_triangular.tables,
    "crossover": known_crossover.tables,
}


@cache
def tables(study: str) -> Mapping[str, Any]:
    return KNOWN[study]()


def each(kind: Kind) -> pytest.MarkDecorator:
    """The figures or tables of all studies whose measurements are known."""
    found = [(study, exhibit) for study in KNOWN for exhibit in study_exhibits(study, kind).values()]
    return pytest.mark.parametrize(("study", "exhibit"), found, ids=lambda one: getattr(one, "name", one))


def of_one_seed(exhibit: Exhibit, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    first = min(rows[measure]["seed"].min() for measure in exhibit.measures if "seed" in rows[measure])
    return {
        name: of_all[of_all["seed"] == first] if name in exhibit.measures and "seed" in of_all else of_all
        for name, of_all in rows.items()
    }


@each("figures")
def test_a_figure_has_the_same_bytes_each_time_is_small_and_can_be_of_one_seed(study: str, exhibit: Exhibit) -> None:
    drawn = exhibits.svg(exhibit, tables(study))
    assert drawn == exhibits.svg(exhibit, tables(study))
    assert len(drawn) < 300_000
    if any("seed" in tables(study)[measure] for measure in exhibit.measures):
        assert exhibits.svg(exhibit, of_one_seed(exhibit, tables(study)))


@each("tables")
def test_a_table_has_rows_of_many_seeds_and_of_one(study: str, exhibit: Exhibit) -> None:
    assert len(exhibits.make_exhibit(exhibit, tables(study)))
    if any("seed" in tables(study)[measure] for measure in exhibit.measures):
        assert len(exhibits.make_exhibit(exhibit, of_one_seed(exhibit, tables(study))))


def test_a_table_is_named_by_its_function_described_by_its_docstring_and_made_of_what_it_asks_for() -> None:
    @table("Ends", values={"what": "losses"})
    def ends(cost: Any, paper: Any) -> Any:
        """All {what} at
        the end.
        """
        return cost, paper

    assert (ends.name, ends.measures, ends.caption) == ("ends", ("cost",), "All losses at the end.")
    assert ends(cost=1, paper=2, learning=3) == (1, 2)


@pytest.mark.parametrize("kind", ["figures", "tables"])
@pytest.mark.parametrize("study", sorted(catalogue.STUDIES))
def test_the_results_describe_each_as_its_function_does(study: str, kind: Kind, committed_results: None) -> None:
    made, written = study_exhibits(study, kind), PROJECT / "results" / kind / study / "index.json"
    index = json.loads(written.read_text())
    assert {file.split("-")[0] for file in index} == {name for name, one in made.items() if sources(study, one)}
    for file, about in index.items():
        described = made[file.split("-")[0]].description()
        assert {name: about[name] for name in described} == json.loads(json.dumps(described)), f"{written}: {file}"


def test_two_of_one_name_are_refused(tmp_path, monkeypatch) -> None:
    text = 'from allmlp.spec.exhibits import table\n\n@table(\'T\')\ndef same(cost):\n    """C."""\n'
    for name in ("one", "two"):
        (tmp_path / f"exhibited_{name}.py").write_text(text)
    files = {f"exhibited_{name}": tmp_path / f"exhibited_{name}.py" for name in ("one", "two")}
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("allmlp.spec.catalogue.files", lambda study, kind: files)
    with pytest.raises(UserError, match=r"exhibited_two\.py: another of the tables of copying is called 'same'"):
        study_exhibits("copying", "tables")


def test_a_parameter_that_names_no_measure_is_refused(tmp_path, monkeypatch) -> None:
    text = 'from allmlp.spec.exhibits import figure\n\n@figure(\'T\')\ndef losses(lerning):\n    """C."""\n'
    (tmp_path / "exhibited_wrong.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert catalogue.measures("copying"), "they are remembered"
    monkeypatch.setattr(
        "allmlp.spec.catalogue.files", lambda study, kind: {"exhibited_wrong": tmp_path / "exhibited_wrong.py"}
    )
    with pytest.raises(
        UserError, match=r"exhibited_wrong\.py, losses: its parameter names no measure 'lerning' of copying"
    ):
        study_exhibits("copying", "figures")
