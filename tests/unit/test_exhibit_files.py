"""A figure is drawn, and a table made, if its rows, its file, the style or the numbers that it prints changed."""

import shutil
from pathlib import Path

import pytest

from allmlp.common import formats
from allmlp.judging import evidence, selection
from allmlp.measurements import store
from allmlp.report import draw, exhibit_files
from allmlp.spec import exhibits
from tests.conftest import PROJECT, call

CLAIM = """
- id: 003-own-99
  claim: A claim that was added.
  where: Appendix B
  statistic: none
  reproduced_if: nothing
  contradicted_if: nothing
  margin: {}
  reason: none
  paper: {identity_coefficient_k12_1: 1.5}
  measures: [coefficients]
  needs: {scale: laptop, seeds: 1}
  test: null
  errata: []
"""
FIGURE = '''"""A figure that was added."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.spec.exhibits import Paper, figure


@figure("Added", claims=["003-own-99"])
def added(coefficients: pd.DataFrame, paper: Paper) -> Figure:
    """Added."""
    drawn, ((axis,),) = style.canvas(height=2, width=3)
    style.mark_paper(axis, list(paper["003-own-99"].values()))
    return drawn
'''


@pytest.fixture(scope="module")
def copy(committed_last_mile: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its results."""
    folder = tmp_path_factory.mktemp("exhibits") / "copy"
    folder.mkdir()
    for name in ("src", "config", "paper"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("params.yaml", "Snakefile", "corpora.lock"):
        shutil.copy2(PROJECT / name, folder)
    bulk = shutil.ignore_patterns("tokens", "checkpoints", "models")
    shutil.copytree(PROJECT / "results", folder / "results", ignore=bulk)
    return folder


def drawn(folder: Path) -> str:
    """The figures of quadrature that a call draws."""
    said = call(folder, "python", "-m", "allmlp", "draw", "quadrature").stdout
    return said.strip().removeprefix("quadrature: drew ")


def times(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (folder / "results/tables").glob("*/*.csv")}


def test_a_new_figure_with_its_claim_is_drawn_alone(copy: Path) -> None:
    before = times(copy)
    claims, number = copy / "src/allmlp/studies/quadrature/claims.yaml", "identity_coefficient_k12_1: "
    claims.write_text(claims.read_text().rstrip("\n") + CLAIM)
    (copy / "src/allmlp/studies/quadrature/figures/added.py").write_text(FIGURE)
    assert drawn(copy) == "added"
    call(copy, "python", "-m", "allmlp", "tabulate")
    assert times(copy) == before

    text = claims.read_text()
    claims.write_text(text.replace(f"{number}-3.7", f"{number}-3.8"))
    assert drawn(copy) == "coefficients", "the paper's other number is printed there alone"
    call(copy, "python", "-m", "allmlp", "tabulate")
    assert [name for name, time in times(copy).items() if time != before[name]] == ["coefficients.csv"]

    damaged = copy / "results/figures/quadrature/phases.svg"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert drawn(copy) == "phases"
    assert damaged.read_bytes() == (PROJECT / "results/figures/quadrature/phases.svg").read_bytes()


@pytest.fixture
def elsewhere(committed_last_mile: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a user's own with the project's measurements and selection, and no figures."""
    shutil.copytree(PROJECT / store.STORE, tmp_path / store.STORE)
    shutil.copy2(PROJECT / "results/selected.json", tmp_path / "results")
    monkeypatch.setenv("ALLMLP_PROJECT", str(PROJECT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_untouched_study_takes_the_figures_of_the_project(elsewhere: Path) -> None:
    assert draw.work("quadrature").finish([]) == []
    for file in [*(PROJECT / draw.FIGURES / "quadrature").iterdir()]:
        assert (elsewhere / draw.FIGURES / "quadrature" / file.name).read_bytes() == file.read_bytes()


def test_other_rows_are_never_shown_by_a_figure_of_the_project(elsewhere: Path) -> None:
    """One number of one run, and the selection names the rows that are here."""
    exhibit = exhibits.study_exhibits("quadrature", "figures")["coefficients"]
    shown = evidence.sources("quadrature", exhibit)[""].measurements_by_run("coefficients")
    key = list(shown.values())[-1].key
    stored, column = store.read_measure("quadrature", "coefficients"), "identity_coefficient_nats"
    rows, (about, _) = stored.rows(key), stored.places[key]
    changed = [value + 1 for value in rows[column].to_pylist()]
    new = rows.set_column(rows.column_names.index(column), rows.schema.field(column), [changed])
    store.replace("quadrature", "coefficients", [(about, new)], {})

    file, after = Path("results/selected.json"), store.read_measure("quadrature", "coefficients")
    written = file.read_text()
    for scale in selection.read()["studies"]["quadrature"].values():
        if held := scale["measurements"].get("coefficients"):
            written = written.replace(scale["digests"]["coefficients"], after.digest(one.key for one in held.values()))
    file.write_text(written)
    todo, _ = draw.jobs("quadrature")
    assert [job.figure for job in todo] == ["coefficients"]


def test_a_damaged_index_makes_all_again_and_a_newer_one_is_left(tmp_path: Path) -> None:
    file = tmp_path / "one.svg"
    file.write_text("<svg/>")
    exhibit_files.write_index(tmp_path, ".svg", {"one": {"digest": "a"}})
    assert exhibit_files.is_current(file, "a")
    assert not exhibit_files.is_current(file, "b")
    index = tmp_path / exhibit_files.INDEX
    index.write_text(index.read_text()[:-3])
    assert not exhibit_files.is_current(file, "a")
    index.write_text('{"format": 99}')
    with pytest.raises(formats.NewerError, match=r"index\.json: is of format 99"):
        exhibit_files.is_current(file, "a")
