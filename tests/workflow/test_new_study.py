"""A study of one's own: `allmlp new study`, word for word as docs/paper.md says, reaches the report."""

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import PROJECT, call, git, only, small_clone

pytestmark = pytest.mark.slow


def test_a_new_study_trains_is_judged_and_drawn_before_a_line_of_it_is_edited(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    said = call(clone, "allmlp", "new", "study", "averages").stdout
    assert "src/allmlp/studies/averages/claims.yaml" in said
    assert "all in line" in said
    only(clone, "averages")
    call(clone, "snakemake", "--cores", "2")
    claims = {entry["id"]: entry for entry in json.loads((clone / "results/claims.json").read_text())["claims"]}
    assert claims["005-1"]["value"] is not None
    assert (clone / "results/figures/averages/early_losses.svg").is_file()
    table = pd.read_csv(clone / "results/tables/averages/early_losses.csv")
    assert set(table["model"]) == {"masked-mixer", "transformer"}
    page = (clone / "results/report.html").read_text()
    assert '<section id="averages"' in page
    assert "A mixer learns to copy faster" in page


WALKS = re.compile(r"\bREGISTRY\b|\bcatalogue\.STUDIES\b|\bmodels\.load\(")  # every architecture, every study
ELSEWHERE = ("test_other_pythons.py", "test_exporting.py", "test_packages.py")  # minutes; new code is no case for them
DRAWN = "test_a_figure_has_the_same_bytes"  # a minute, of the figures of each study: those of the new one are enough


def test_what_make_test_runs_holds_beside_a_new_study_and_a_new_architecture(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone", PROJECT)
    shutil.copytree(PROJECT / "results", clone / "results", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    call(clone, "allmlp", "new", "architecture", "running-average")
    (said,) = re.findall(r"(\d+) runs in half a core-hour for one architecture", read_page("architecture"))
    asked = call(clone, "allmlp", "plan", "--open", "--study", "crossover", "--scale", "workstation").stdout
    lacking = [line for line in asked.splitlines() if line.startswith("running-average-")]
    assert len(lacking) == int(said)
    seconds = [int(line.split()[-2]) for line in lacking if line.endswith(" s")]
    assert len(seconds) == len(lacking)
    assert 0.25 < sum(seconds) / 3600 < 0.75, "half a core-hour"
    call(clone, "allmlp", "new", "study", "averages")
    for words in (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)):
        call(clone, *words)
    files = [
        str(file.relative_to(clone))
        for file in sorted([*(clone / "tests/docs").glob("test_*.py"), *(clone / "tests/unit").glob("test_*.py")])
        if WALKS.search(file.read_text(encoding="utf-8")) and file.name not in ELSEWHERE
    ]
    assert len(files) > 25
    words = ("-n", "2", "-p", "no:warnings", "-m", "not slow", "-k", f"averages or not {DRAWN}")
    done = call(clone, sys.executable, "-m", "pytest", *words, *files, ok=False).stdout
    assert not re.search(r"^(FAILED|ERROR) |no tests ran", done, re.MULTILINE), done[-5000:]
    assert re.search(r"^\d+ passed", done, re.MULTILINE), done[-5000:]


def read_page(name: str) -> str:
    """A page in one line."""
    return " ".join((PROJECT / f"docs/{name}.md").read_text(encoding="utf-8").split())


def test_a_name_that_is_there_or_no_name_is_refused(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    for kind, name, why in (
        ("study", "mixers", "not yet there"),
        ("study", "two-words", "one word of small letters"),
        ("architecture", "llama", "not yet there"),
        ("architecture", "My Model", "words of small letters"),
    ):
        failed = call(clone, "allmlp", "new", kind, name, ok=False)
        assert failed.returncode == 2
        assert why in failed.stderr
    (clone / "src/allmlp/models/my_mixer.py").write_text("")
    failed = call(clone, "allmlp", "new", "architecture", "my-mixer", ok=False)
    assert "my_mixer.py: is there. Remove it, or take another name." in failed.stderr
    assert '"my-mixer"' not in (clone / "src/allmlp/models/__init__.py").read_text()


@pytest.mark.parametrize(("kind", "name"), [("architecture", "my-mixer"), ("study", "averages")])
def test_a_call_that_fails_leaves_nothing_and_works_once_its_cause_is_mended(
    tmp_path: Path, kind: str, name: str
) -> None:
    clone = small_clone(tmp_path / "clone")
    words = ("allmlp", "new", kind, name)

    def fails(said: str) -> None:
        failed = call(clone, *words, ok=False)
        assert failed.returncode == 2
        assert said in failed.stderr
        assert git(clone, "status", "--porcelain") == ""
        assert not list(clone.glob("*/averages"))
        assert not (clone / "src/allmlp/studies/averages").exists()

    (clone / "corpora.local.yaml").write_text("mine: {source: local}\n")
    fails("corpora.local.yaml:1: ")
    (clone / "corpora.local.yaml").unlink()
    golden = clone / "tests/numerics/golden.py"  # what fails late, when lock files are written
    works = golden.read_text()
    golden.write_text("raise ValueError('no losses')\n")
    git(clone, "commit", "--quiet", "--all", "--message=broken")
    fails("ValueError: no losses")
    golden.write_text(works)
    call(clone, *words)
