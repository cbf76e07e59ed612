"""An architecture of one's own: a file, a registry line, and it stands in the matrix; one that leaks does not."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import PROJECT, call, edit, only, small_clone
from tests.workflow.asking import planned

pytestmark = pytest.mark.slow

PAGE = (PROJECT / "docs/architecture.md").read_text(encoding="utf-8")
AVERAGE = PAGE.split("## A whole one")[1].split("```python\n")[1].split("```")[0]
LAST = '    "triangular": "allmlp.models.triangular:Triangular",\n'


def register(clone: Path, name: str, summed: str) -> None:
    """A file, and a line."""
    module = name.replace("-", "_")
    (clone / f"src/allmlp/models/{module}.py").write_text(AVERAGE.replace("cumsum(dim=1)", summed), encoding="utf-8")
    edit(
        clone, "src/allmlp/models/__init__.py", LAST, f'{LAST}    "{name}": "allmlp.models.{module}:RunningAverage",\n'
    )


@pytest.fixture
def crossover(tmp_path: Path) -> Path:
    """A clone whose plan is the crossover alone: strings to copy, and three families."""
    clone = small_clone(tmp_path / "clone")
    only(clone, "crossover")
    edit(clone, "config/crossover/smoke.yaml", "{copying: 1e11, stories: 1e11, recall: 1e11}", "{copying: 1e11}")
    return clone


def test_a_registered_architecture_appears_in_the_matrix_and_the_next_one_leaves_it(crossover: Path) -> None:
    call(crossover, "allmlp", "new", "architecture", "running-average")
    call(crossover, "snakemake", "--cores", "2")
    picture = (crossover / "results/figures/crossover/matrix.svg").read_text()
    assert "average" in picture, "a column of its own name"
    tables = crossover / "results/tables/crossover"
    costs = pd.read_csv(tables / "costs.csv").set_index("model")
    assert costs.loc["running-average", "family"] == "averages"
    able = pd.read_csv(tables / "abilities.csv").set_index("architecture")
    assert able.loc["running-average", "copying"] == "yes"
    assert able.loc["running-average", "digits"] == "cannot: It reads tokens, not patches of images."
    page = (crossover / "results/report.html").read_text()
    assert '<section id="crossover"' in page
    assert "running-average" in page
    assert planned(crossover) == []

    register(crossover, "slow-average", "cumsum(dim=1)")
    call(crossover, "allmlp", "report")
    index = json.loads((crossover / "results/figures/crossover/index.json").read_text())
    assert index["matrix"]["extension"]["measured"] < index["matrix"]["extension"]["planned"], "drawn as it was"
    assert "slow-average" in (tables / "abilities.csv").read_text()


def test_one_that_is_edited_before_its_first_commit_needs_no_decision(crossover: Path) -> None:
    call(crossover, "allmlp", "new", "architecture", "running-average")
    golden = crossover / "tests/numerics/golden.json"
    before = json.loads(golden.read_text())["running-average"]
    edit(crossover, "src/allmlp/models/running_average.py", "self.out(total_BD / count)", "self.out(-total_BD / count)")
    edit(crossover, "src/allmlp/models/running_average.py", "self.out(x_BTD.cumsum", "self.out(-x_BTD.cumsum")
    said = call(crossover, "allmlp", "check", "--fix").stdout
    assert "of no commit and without results: taken as new: allmlp.models.running_average" in said
    after = json.loads(golden.read_text())["running-average"]
    assert after["recipes"] == before["recipes"]
    assert after["losses"] != before["losses"], "those of the edited one"
    assert "golden" not in call(crossover, "allmlp", "check").stdout.replace("golden losses", "")


def test_one_that_leaks_is_stopped_by_name_before_anything_is_planned(crossover: Path) -> None:
    register(crossover, "future-average", "sum(dim=1, keepdim=True)")
    failed = call(crossover, "allmlp", "plan", ok=False)
    assert failed.returncode
    said = " ".join((failed.stdout + failed.stderr).split())
    assert "future-average: says that it is causal, and position 0 changes with token" in said
    assert "no run of it is planned" in said
