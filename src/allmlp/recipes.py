"""RECIPE numbers and the sources behind them, read without importing anything.

A run's id holds the RECIPE of its architecture, its task and the training loop; a measurement's name holds its
measure's. A RECIPE is a small integer in the module it belongs to, raised by hand when a change alters results.
`recipes.lock` keeps a hash of the sources behind each RECIPE (the module and all of allmlp that it imports,
comments and docstrings left out), so that `allmlp check` notices a change. The hash is of the syntax tree, which is the
same on every Python version; the text that `ast.unparse` writes is not.
"""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import allmlp
from allmlp.errors import UserError

PACKAGE = Path(allmlp.__file__).parent
NAMES = (
    *("columns", "errors", "git", "models", "origins", "paths", "protocols", "recipes", "run", "strict", "studies"),
    *("tasks", "whole"),
)
BLIND = frozenset(f"allmlp.{name}" for name in NAMES)  # cannot change a result: names, registries, descriptions
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # nodes that may have a docstring
NO_CODE = {"ctx", "kind", "type_comment"}  # fields of syntax nodes that say nothing about what the code does
LEDGERS = {"about.yaml", "claims.yaml", "errata.yaml", "inventory.yaml", "known.json"}  # no result reads them


def source(module: str) -> Path:
    """The file of a module of this package: `allmlp.models.mlp` -> .../models/mlp.py."""
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    return stem.with_suffix(".py") if stem.with_suffix(".py").is_file() else stem / "__init__.py"


def parsed(module: str) -> ast.Module:
    """The syntax tree of a module, a new one each time. UserError for an unknown module."""
    path = source(module)
    if not path.is_file():
        raise UserError(f"{module}: no such module ({path})")
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):  # Python 3.12 ends some f-strings with an empty text
            node.values = [one for one in node.values if not (isinstance(one, ast.Constant) and one.value == "")]
    return tree


_tree = cache(parsed)


@cache
def _declared(module: str) -> int | None:
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "RECIPE" for t in node.targets):
            return int(ast.literal_eval(node.value))
    return None


def of(module: str) -> int:
    """The RECIPE constant of a module, without importing it."""
    if (recipe := _declared(module)) is None:
        raise UserError(f"{source(module)}: has no RECIPE. Add `RECIPE = 1`, and raise it if a change alters results.")
    return recipe


@cache
def own_code(module: str) -> str:
    """A module's own code as JSON of its syntax tree, without comments and docstrings."""
    clean = parsed(module)
    for node in ast.walk(clean):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return json.dumps(_plain(clean))


def _plain(node: Any) -> Any:
    """A syntax node as nested lists: its kind, and its fields that are not empty. Python versions differ in those."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if name not in NO_CODE)
    return [
        type(node).__name__,
        *([name, _plain(value)] for name, value in fields if value is not None and value != []),
    ]


@cache
def _imports(module: str) -> set[str]:
    """The modules of this package that a module imports, at the top or inside functions, not for its types alone."""
    found: set[str] = set()
    body = [of for of in _tree(module).body if not (isinstance(of, ast.If) and "TYPE_CHECKING" in ast.dump(of.test))]
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "allmlp":
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "allmlp"}
    return {name for name in found if name != "allmlp" and source(name).is_file()}


def sources(*modules: str, blind: frozenset[str] = BLIND) -> list[str]:
    """Modules and everything of allmlp that they import, directly or not, except what cannot alter a result."""
    seen, waiting = set(), list(modules)
    while waiting:
        name = waiting.pop()
        if name not in seen and (name in modules or name not in blind):
            seen.add(name)
            waiting += _imports(name)
    return sorted(seen)


def _data(module: str) -> str:
    """Other source files: a package's word lists and templates, and the table beside a module."""
    path = source(module)
    if path.name == "__init__.py":
        files = [file for file in sorted(path.parent.rglob("*")) if file.suffix in {".yaml", ".txt"}]
    else:
        files = [file for file in [path.with_suffix(".json")] if file.is_file()]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.name not in LEDGERS)


@cache
def fingerprint(*modules: str, blind: frozenset[str] = BLIND) -> str:
    """A hash of the sources behind a module's RECIPE, or behind several modules, ignoring docstrings and layout."""
    names = sources(*modules, blind=blind)
    text = "\n".join(f"# {name}\n{own_code(name)}{_data(name)}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules() -> list[str]:
    """Every module of the package that has a RECIPE."""
    names = [".".join(("allmlp", *p.relative_to(PACKAGE).with_suffix("").parts)) for p in sorted(PACKAGE.rglob("*.py"))]
    names = [name.removesuffix(".__init__") for name in names]
    named = (name for name in names if "RECIPE" in source(name).read_text(encoding="utf-8"))  # parsing takes longer
    return [name for name in named if _declared(name) is not None]
