"""RECIPE numbers and the sources behind them, read without importing anything.

A run's id holds the RECIPE of its architecture, its task and the training loop; a measurement's name holds its
measure's. A RECIPE is a small integer in the module it belongs to, raised by hand when a change alters results.
`recipes.lock` keeps a hash of the sources behind each RECIPE (the module and all of allmlp that it imports,
comments and docstrings left out), so that `allmlp check` notices a change.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

import allmlp
from allmlp.errors import UserError

PACKAGE = Path(allmlp.__file__).parent
NAMES = ("columns", "errors", "models", "paths", "protocols", "recipes", "run", "strict", "studies", "tasks", "whole")
BLIND = frozenset(f"allmlp.{name}" for name in NAMES)  # cannot change a result: names, registries, descriptions
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # nodes that may have a docstring
LEDGERS = {"about.yaml", "claims.yaml", "errata.yaml", "inventory.yaml", "known.json"}  # no result reads them


def source(module: str) -> Path:
    """The file of a module of this package: `allmlp.models.mlp` -> .../models/mlp.py."""
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    return stem.with_suffix(".py") if stem.with_suffix(".py").is_file() else stem / "__init__.py"


def _parsed(module: str) -> ast.Module:
    path = source(module)
    if not path.is_file():
        raise UserError(f"{module}: no such module ({path})")
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


_tree = cache(_parsed)


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
def own_text(module: str) -> str:
    """A module's own code, without comments and docstrings."""
    clean = _parsed(module)
    for node in ast.walk(clean):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(clean)


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
    text = "\n".join(f"# {name}\n{own_text(name)}{_data(name)}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules() -> list[str]:
    """Every module of the package that has a RECIPE."""
    names = [".".join(("allmlp", *p.relative_to(PACKAGE).with_suffix("").parts)) for p in sorted(PACKAGE.rglob("*.py"))]
    names = [name.removesuffix(".__init__") for name in names]
    named = (name for name in names if "RECIPE" in source(name).read_text(encoding="utf-8"))  # parsing takes longer
    return [name for name in named if _declared(name) is not None]
