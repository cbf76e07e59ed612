"""The sources behind a RECIPE: what is imported, directly or not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.spec import catalogue
from tests.conftest import PROJECT, call, edit


def test_sources_reach_what_is_imported_indirectly() -> None:
    sources = recipes.sources("allmlp.models.causal_rn")
    assert "allmlp.models.backbone" in sources
    assert "allmlp.common.errors" not in sources


def test_a_raised_recipe_changes_the_plan(clone: Path) -> None:
    before = call(clone, "allmlp", "plan", "--format", "json").stdout
    edit(clone, "src/allmlp/data/tasks/copying.py", "RECIPE = 1", "RECIPE = 2")
    after = call(clone, "allmlp", "plan", "--format", "json").stdout
    assert before != after


def others() -> list[str]:
    """Interpreters of other Python versions on this machine."""
    names = [f"python3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor]
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.1[1-9]*/bin/python"))
    found = [path for name in names if (path := shutil.which(name))]
    return [path for path in (*found, *map(str, pyenv)) if _version(path) not in (None, sys.version_info[:2])]


def _version(python: str) -> tuple[int, int] | None:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, said.stdout.split())) if said.returncode == 0 else None


DIGESTS = """
import json, sys
from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.judging import code_digest
asked = json.load(sys.stdin)
found = {name: recipes.fingerprint(name) for name in asked["modules"]}
print(json.dumps(found | {test: code_digest.digest(module, test) for module, test in asked["tests"]}))
"""


def test_digests_are_the_same_on_every_python() -> None:
    if not (pythons := others()):
        pytest.skip("no other Python from 3.11 on is installed here")
    claims = [
        (study, claim["test"]) for study in catalogue.STUDIES for claim in catalogue.ledger(study) if claim["test"]
    ]
    tests = [(catalogue.verdict_module(study, test), test) for study, test in claims]
    asked = json.dumps({"modules": recipes.modules(), "tests": tests})
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    here, *there = (
        json.loads(
            subprocess.run(
                [python, "-c", DIGESTS], input=asked, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
        for python in (sys.executable, *pythons)
    )
    for python, found in zip(pythons, there, strict=True):
        assert found == here, python


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
