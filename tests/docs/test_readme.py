"""README's numbers are those of the results: `allmlp report` writes them."""

import re
import shutil
from pathlib import Path

import pytest

from allmlp.judging import selection
from allmlp.report import readme, run_counts
from allmlp.spec import catalogue
from tests.conftest import PROJECT, call

pytestmark = pytest.mark.usefixtures("in_project")

LONGEST = 110  # lines
CHECK = """
import os
from allmlp.common import paths
from allmlp.pipeline.checking import files, findings
os.chdir(paths.directory())
print(*(one.text() for one in files.readme(False, findings.Decisions())))
"""


def test_the_numbers_are_those_of_the_results() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    marks = re.findall(r"^<!-- (\w+) -->$", text, re.MULTILINE)
    assert sorted(marks) == sorted(readme.pieces())
    assert readme.insert_pieces(text) == text, "`allmlp report` writes them again"
    assert len(text.splitlines()) <= LONGEST


def test_a_changed_verdict_reaches_readme_by_dvcs_command_and_by_check(
    committed_last_mile: None, tmp_path: Path
) -> None:
    """In a copy of the results, whose claims say otherwise."""
    bulk = shutil.ignore_patterns("measurements", "tokens", "checkpoints", "models", "tokenizers")
    shutil.copytree(PROJECT / "results", tmp_path / "results", ignore=bulk)
    shutil.copy2(PROJECT / "README.md", tmp_path)
    (tmp_path / "results/measurements").symlink_to(PROJECT / "results/measurements")
    claims = tmp_path / "results/claims.json"
    claims.write_text(claims.read_text().replace('"contradicted"', '"partly"'))
    places = {"ALLMLP_PROJECT": str(PROJECT), "ALLMLP_DIRECTORY": str(tmp_path)}

    def check() -> str:
        return call(PROJECT, "python", "-c", CHECK, **places).stdout.strip()

    before = (tmp_path / "README.md").read_text()
    assert check() == "README.md: its numbers are not those of the results"
    call(PROJECT, "python", "-m", "allmlp", "render", **places)
    written = (tmp_path / "README.md").read_text()
    assert "| contradicted |" in before
    assert "| contradicted |" not in written
    assert check() == ""


def test_what_make_reproduce_proves_is_counted() -> None:
    found = readme.content()
    laptop = run_counts.measured_runs(selection.read()["studies"], "laptop")
    entries = readme.claims_json.read()["claims"]
    of_papers = [one for one in entries if not catalogue.is_project_claim(one["id"]) and not one.get("same_as")]
    assert found["again"] == len(laptop)
    assert found["retrained"] == sum(bool(one.get("runs")) and set(one["runs"]) <= laptop for one in of_papers)
    assert 0 < found["retrained"] < found["judged"] <= found["claims"] == len(of_papers)


def test_a_readme_without_marks_stays_as_it_is() -> None:
    assert readme.insert_pieces("My own project.\n") == "My own project.\n"
    changed = readme.insert_pieces("Before\n<!-- papers -->\nold\n<!-- /papers -->\nafter\n")
    assert changed.startswith("Before\n<!-- papers -->\n- **000** ")
    assert changed.endswith("\n<!-- /papers -->\nafter\n")
    assert "old" not in changed
