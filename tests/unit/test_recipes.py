"""The sources behind a RECIPE: what is imported, directly or not."""

from pathlib import Path

from allmlp import recipes
from tests.conftest import call, edit


def test_sources_reach_what_is_imported_indirectly() -> None:
    sources = recipes.sources("allmlp.models.causal_rn")
    assert "allmlp.models.backbone" in sources
    assert "allmlp.errors" not in sources


def test_a_raised_recipe_changes_the_plan(clone: Path) -> None:
    before = call(clone, "allmlp", "plan", "--format", "json").stdout
    edit(clone, "src/allmlp/tasks/copying.py", "RECIPE = 1", "RECIPE = 2")
    after = call(clone, "allmlp", "plan", "--format", "json").stdout
    assert before != after
