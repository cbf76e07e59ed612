"""The last mile needs no PyTorch: judging, drawing, tabulating and rendering start without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from allmlp.judging import select
from allmlp.plan.plan import Plan, load_plan
from allmlp.report import last_mile
from tests.conftest import PROJECT

LOADS_ALL = """
import sys
from allmlp.judging import judge, select
from allmlp.report import draw, render, tabulate
from allmlp.spec import catalogue, exhibits
for study in catalogue.STUDIES:
    exhibits.study_exhibits(study, "figures"), exhibits.study_exhibits(study, "tables"), catalogue.Page(study)
    for claim in catalogue.ledger(study):
        claim["test"] and catalogue.verdict(study, claim["test"])
print("torch" in sys.modules)
"""


def test_the_last_mile_starts_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS_ALL], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_report_of_an_overlay_is_made_once_and_says_which_figures_it_drew(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`published`: the project's parameters."""
    (tmp_path / "own/my").mkdir(parents=True)
    (tmp_path / "my.yaml").write_text("scale: smoke\n")
    plan = load_plan([tmp_path / "my.yaml"])
    assert plan.root == published.parent == PROJECT
    monkeypatch.chdir(tmp_path / "own/my")
    figure, made = Path("results/figures/language/one.svg"), []

    def make() -> None:
        made.append(Path.cwd().name)
        figure.parent.mkdir(parents=True, exist_ok=True)
        figure.write_text(str(len(made)))

    def selected(_: Plan) -> bool:
        return True

    monkeypatch.setattr(select, "select", selected)
    monkeypatch.setattr(last_mile, "make", make)
    assert last_mile.report(plan) == {"language": ["one"]}
    assert last_mile.report(plan) == {}
    assert made == ["my"], "nothing was new"
    figure.unlink()
    assert last_mile.report(plan) == {"language": ["one"]}, "a result that is gone is made again"
