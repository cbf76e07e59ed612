"""The sources behind a RECIPE: what is imported, directly or not."""

from pathlib import Path

import pytest

from allmlp.common import recipes
from allmlp.common.errors import UserError
from tests.conftest import call, edit


def test_sources_reach_what_is_imported_indirectly() -> None:
    sources = recipes.sources("allmlp.models.causal_rn")
    assert "allmlp.models.backbone" in sources
    assert "allmlp.common.errors" not in sources


def test_what_cannot_change_a_result_is_there() -> None:
    assert [name for name in recipes.BLIND if not recipes.source(name).is_file()] == []


def test_a_raised_recipe_changes_the_plan(clone: Path) -> None:
    before = call(clone, "allmlp", "plan", "--format", "json").stdout
    edit(clone, "src/allmlp/data/tasks/copying.py", "RECIPE = 1", "RECIPE = 2")
    after = call(clone, "allmlp", "plan", "--format", "json").stdout
    assert before != after


def test_a_digest_sees_code_and_no_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "source", lambda name: tmp_path / f"{name}.py")

    def code(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        return recipes.module_code(name)

    plain = code("plain", "def f(x):\n    return x or None\n")
    assert plain == code("documented", 'def f( x ):\n    """What f does."""\n    return (x or\n None)  # said\n')
    assert plain != code("changed", "def f(x):\n    return x or 0\n")
    assert code("returned", "def f():\n    return\n") != code("none", "def f():\n    return None\n")


MEASURES = """
from allmlp.spec.measures import Rows, measure
from allmlp.models import mlp
from allmlp.models import relation

HALF = 0.5


@measure(  # by two
    recipe=2,
    halves=exact("halves"),
)
def halves(trained):
    yield (mlp, _half(trained))


@measure(recipe=3, doubles=exact("doubles"))
def doubles(trained):
    yield (relation, 2 * trained)


def _half(number):
    return HALF * number
"""


def test_a_measure_has_its_own_recipe_and_what_it_uses_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.py").write_text(MEASURES)
    source = recipes.source
    monkeypatch.setattr(recipes, "source", lambda name: tmp_path / "m.py" if name[:2] in ("m", "m:") else source(name))
    assert recipes.declared("m") == {"m:halves": 2, "m:doubles": 3}
    halves, doubles = recipes.module_code("m:halves"), recipes.module_code("m:doubles")
    assert ("0.5" in halves, "_half" in halves, "relation" in halves, "doubles" in halves) == (True, True, False, False)
    assert ("HALF" in doubles, "halves" in doubles) == (False, False)
    found = {name.rpartition(".")[2] for name in recipes.sources("m:halves")}
    assert "mlp" in found
    assert "relation" not in found
    with pytest.raises(UserError, match=r"has no `@measure\(recipe=1, \.\.\.\) def thirds`"):
        recipes.recipe_number("m:thirds")
