"""A digest of the code behind a verdict: of its function, and of every function, class and constant that it uses.

Read from the sources, without importing any. What lies at the top of a module WITHIN counts, without comments,
docstrings and layout, wherever it lies. A new name counts as new code.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from allmlp.common import recipes
from allmlp.common.errors import UserError

WITHIN = ("allmlp.studies", "allmlp.judging", "allmlp.report", "allmlp.spec.search_rules")


class Names(NamedTuple):
    """The names at the top of a module: the full names of imported ones, the statements that define the others."""

    imported: dict[str, str]
    defined: dict[str, list[ast.stmt]]


class Home(NamedTuple):
    """The module that defines a name, and the name there."""

    module: str
    name: str


def digest(module: str, name: str) -> str:
    """The digest of all code that a function uses, directly or not. UserError for an unknown function."""
    if (root := _home(f"{module}.{name}")) is None:
        raise UserError(f"{recipes.source(module)}: defines and imports no {name!r}.")
    codes: dict[Home, str] = {}
    waiting = [root]
    while waiting:
        if (home := waiting.pop()) not in codes:
            codes[home], uses = _definition(home)
            waiting += uses
    return hashlib.sha256("\n".join(sorted(codes.values())).encode()).hexdigest()


@cache
def _definition(home: Home) -> tuple[str, frozenset[Home]]:
    """Its code, and what it uses."""
    statements = _names(home.module).defined[home.name]
    uses = frozenset(_uses(home.module, statements))
    return "".join(map(recipes.code, statements)), uses


@cache
def _names(module: str) -> Names:
    imported: dict[str, str] = {}
    defined: dict[str, list[ast.stmt]] = {}
    for statement in recipes.syntax_tree(module).body:
        imported |= _imports([statement])
        for name in recipes.bound_names(statement) - imported.keys():
            defined.setdefault(name, []).append(statement)
    return Names(imported, defined)


def _imports(statements: list[ast.stmt]) -> dict[str, str]:
    """Name -> full name, of all imports in these statements."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    found = {a.asname: a.name for node in nodes if isinstance(node, ast.Import) for a in node.names if a.asname}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


@cache
def _home(dotted: str) -> Home | None:
    """Where a full name is defined, through re-exports; None if that is not WITHIN."""
    module, _, name = dotted.rpartition(".")
    if not module.startswith(WITHIN) or not recipes.source(module).is_file():
        return None
    names = _names(module)
    if name in names.defined:
        return Home(module, name)
    return _home(names.imported[name]) if name in names.imported else None


def _uses(module: str, statements: list[ast.stmt]) -> Iterator[Home]:
    """What these statements of a module use of the sources: their names, and attributes of imported modules."""
    imported = _names(module).imported | _imports(statements)
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Name):
            dotted = imported.get(node.id, f"{module}.{node.id}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            dotted = f"{imported[node.value.id]}.{node.attr}"
        else:
            continue
        if home := _home(dotted):
            yield home
