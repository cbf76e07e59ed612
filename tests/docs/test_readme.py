"""README's numbers are those of the results: `allmlp report` writes them."""

import re

import pytest

from allmlp import studies
from allmlp.report import counting, readme, selection
from tests.conftest import PROJECT

LONGEST = 110  # lines


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_the_numbers_are_those_of_the_results() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    marks = re.findall(r"^<!-- (\w+) -->$", text, re.MULTILINE)
    assert sorted(marks) == sorted(readme.pieces())
    assert readme.written(text) == text, "`allmlp report` writes them again"
    assert len(text.splitlines()) <= LONGEST


def test_what_make_reproduce_proves_is_counted() -> None:
    found = readme.content()
    laptop = counting.measured(selection.read()["studies"], "laptop")
    entries = readme.claims.read()["claims"]
    of_papers = [one for one in entries if not studies.is_own(one["id"]) and not one.get("same_as")]
    assert found["again"] == len(laptop)
    assert found["retrained"] == sum(bool(one.get("runs")) and set(one["runs"]) <= laptop for one in of_papers)
    assert 0 < found["retrained"] < found["judged"] <= found["claims"] == len(of_papers)


def test_a_readme_without_marks_stays_as_it_is() -> None:
    assert readme.written("My own project.\n") == "My own project.\n"
    changed = readme.written("Before\n<!-- papers -->\nold\n<!-- /papers -->\nafter\n")
    assert changed.startswith("Before\n<!-- papers -->\n- **000** ")
    assert changed.endswith("\n<!-- /papers -->\nafter\n")
    assert "old" not in changed
