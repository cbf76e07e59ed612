"""recipes.lock notices changed sources, and is blind to comments and docstrings."""

from pathlib import Path

import pytest

from allmlp import recipes
from tests.conftest import PROJECT, call, edit


def test_the_lock_agrees_with_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    assert recipes.check() == []


def test_sources_reach_what_is_imported_indirectly() -> None:
    sources = recipes.sources("allmlp.models.causal_rn")
    assert "allmlp.models.backbone" in sources
    assert "allmlp.errors" not in sources


def test_a_comment_changes_nothing_and_a_number_does(clone: Path) -> None:
    file = "src/allmlp/training/schedule.py"
    path = clone / file
    path.write_text(path.read_text() + "\n# a comment\n")
    assert "all as locked" in call(clone, "allmlp", "recipes").stdout
    edit(clone, file, "return maximum * step / warmup", "return maximum * (step + 1) / warmup")
    said = call(clone, "allmlp", "recipes", ok=False)
    assert said.returncode == 1
    assert "allmlp.training.loop: its sources changed, its RECIPE 1 did not" in said.stdout
    call(clone, "allmlp", "recipes", "--same-behaviour", "all")
    assert "all as locked" in call(clone, "allmlp", "recipes").stdout


def test_a_ledger_is_no_source_of_results_but_a_rule(clone: Path) -> None:
    edit(clone, "src/allmlp/studies/quadrature/claims.yaml", "neuron_share_1: 0.9}", "neuron_share_1: 0.8}")
    said = call(clone, "allmlp", "recipes", ok=False).stdout
    assert "003-1: its rule is not the one in rules.lock" in said
    assert "allmlp.studies.quadrature" not in said
    assert "003-1" not in call(clone, "allmlp", "recipes", "--write", ok=False).stdout


def test_a_raised_recipe_changes_the_plan(clone: Path) -> None:
    before = call(clone, "allmlp", "plan", "--format", "json").stdout
    edit(clone, "src/allmlp/tasks/copying.py", "RECIPE = 1", "RECIPE = 2")
    after = call(clone, "allmlp", "plan", "--format", "json").stdout
    assert before != after
