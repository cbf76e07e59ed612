"""Every figure and table of the papers stands in inventory.yaml, with what shows it here or the reason for none."""

import re
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.spec import catalogue, exhibits
from tests.conftest import PROJECT

PAPERS = PROJECT.parent / "shared/papers"
OF_PAPERS = [study for study, number in catalogue.STUDIES.items() if number.isdigit()]
TABLES = {"mixers": 6, "quadrature": 2}  # tables without a number in the papers' text
BEGIN = re.compile(r"^Figure (\d+)[.:]", re.MULTILINE)
UNNUMBERED = ("mixers",)  # papers whose figures have no numbers
NAMED = re.compile(r"Figures? ((?:\d+)(?:(?:, | and )\d+)*)")


@pytest.mark.parametrize("study", OF_PAPERS)
def test_every_numbered_figure_and_every_table_of_a_paper_is_listed(study: str) -> None:
    if not PAPERS.is_dir():
        pytest.skip("the papers' text is not there: ../shared/papers")
    (paper,) = PAPERS.glob(f"{catalogue.STUDIES[study]}_*.txt")
    printed = {f"Figure {number}" for number in BEGIN.findall(paper.read_text(encoding="utf-8"))}
    listed = [row["of"] for row in catalogue.inventory(study)]
    assert printed <= set(listed)
    assert len(set(listed)) == len(listed)
    assert sum(name.startswith("Table") for name in listed) == TABLES.get(study, 0)


@pytest.mark.parametrize("study", OF_PAPERS)
def test_a_figure_that_names_a_figure_of_the_paper_is_named_by_it_in_turn(study: str) -> None:
    here = {row["of"]: row["here"] for row in catalogue.inventory(study)}
    kinds = (exhibits.study_exhibits(study, "figures"), exhibits.study_exhibits(study, "tables"))
    named = [
        (exhibit.name, f"Figure {number}")
        for exhibit in (exhibit for of_kind in kinds for exhibit in of_kind.values())
        for numbers in NAMED.findall(exhibit.where or "")
        for number in re.findall(r"\d+", numbers)
    ]
    assert bool(named) == (study not in UNNUMBERED)
    assert [(name, figure) for name, figure in named if name not in here[figure]] == []


def test_a_row_needs_something_here_or_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_folder", lambda study: tmp_path)
    monkeypatch.setattr(catalogue, "_short_path", lambda path: path.name)
    for row, said in {
        "- {of: Figure 1, shows: x, here: []}": "needs a figure or table in `here`",
        "- {of: Figure 1, shows: x, here: [nothing]}": "nothing",
    }.items():
        (tmp_path / "inventory.yaml").write_text(row + "\n", encoding="utf-8")
        with pytest.raises(UserError, match=said):
            catalogue.inventory("triangular")
