"""A digest of the code behind a verdict that ignores names, docstrings, annotations, comments and layout.

Read from the sources, without importing any: a function, class or constant at the top of a module of allmlp.studies or
allmlp.report, and all of these that it uses, directly or not. Names of other packages are digested as full names. In
the digest a definition is a number, in the order of first use, so that renaming it changes nothing.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from allmlp import recipes
from allmlp.errors import UserError

WITHIN = ("allmlp.studies", "allmlp.report")
SILENT = {"annotation", "returns", "ctx", "kind", "simple", "type_comment", "type_ignores", "type_params"}


class Definition(NamedTuple):
    """A name at the top of a module."""

    module: str
    name: str


Token = str | Definition


@dataclass(frozen=True)
class Names:
    """The meaning of the names in a module, or in one of its definitions: imports and definitions."""

    module: str
    imports: dict[str, str]  # name -> dotted, of modules and of what is in them
    defined: dict[str, list[ast.stmt]]

    def dotted(self, name: str) -> str:
        """The full name of a name; the name itself if it is Python's own."""
        return f"{self.module}.{name}" if name in self.defined else self.imports.get(name, name)


def digest(module: str, name: str) -> str:
    """The digest of all code that a function reaches. UserError for an unknown function."""
    root = _definition(f"{module}.{name}")
    if not isinstance(root, Definition):
        raise UserError(f"{recipes.source(module)}: defines and imports no {name!r}.")
    number, waiting, text = {root: 0}, [root], []
    for one in waiting:  # grows
        for token in _tokens(one):
            if isinstance(token, Definition) and token not in number:
                number[token] = len(number)
                waiting.append(token)
            text.append(f"@{number[token]}" if isinstance(token, Definition) else token)
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


@cache
def _names(module: str) -> Names:
    body = recipes.parsed(module).body
    statements = list(_top(body))
    imports = {name: dotted for statement in statements for name, dotted in _imported(statement)}
    defined: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _bound(statement):
            defined.setdefault(name, []).append(statement)
    return Names(module, imports, defined)


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also in conditions, except those for types alone."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(statement):
            yield from _top([inner for inner in ast.walk(statement) if isinstance(inner, ast.stmt)][1:])
        elif not isinstance(statement, ast.If):
            yield statement


def _imported(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        yield from ((a.asname or a.name, f"{statement.module}.{a.name}") for a in statement.names)
    elif isinstance(statement, ast.Import):
        yield from (
            (a.asname or a.name.split(".")[0], a.name if a.asname else a.name.split(".")[0]) for a in statement.names
        )


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]


@cache
def _definition(dotted: str) -> Definition | str:
    """The definition of a full name, through re-exports; the name itself if it is not WITHIN."""
    module, _, name = dotted.rpartition(".")
    if not dotted.startswith(WITHIN) or not recipes.source(module).is_file() or recipes.source(dotted).is_file():
        return dotted
    names = _names(module)
    if name in names.defined:
        return Definition(module, name)
    return _definition(names.imports[name]) if name in names.imports else dotted


@cache
def _tokens(of: Definition) -> tuple[Token, ...]:
    """A definition's own code: words, and the definitions that it uses."""
    names = _names(of.module)
    tokens: list[Token] = []
    for statement in names.defined[of.name]:
        if isinstance(statement, ast.Assign):  # the index of this target, of several
            tokens += [f"target {_bound(statement).index(of.name)}", *_shape(statement.value, _local(statement, names))]
        else:
            tokens += _shape(statement, _local(statement, names), top=True)
    return tuple(tokens)


def _local(statement: ast.stmt, names: Names) -> Names:
    """The names within a definition: its own bindings hide those of the module."""
    inner = list(ast.walk(statement))[1:]
    own = {node.id for node in inner if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in inner if isinstance(node, ast.arg)}
    own |= {node.name for node in inner if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        own -= set(_bound(statement))
    imports = {name: dotted for name, dotted in names.imports.items() if name not in own}
    imports |= {name: dotted for node in inner if isinstance(node, ast.stmt) for name, dotted in _imported(node)}
    return Names(names.module, imports, {name: of for name, of in names.defined.items() if name not in own})


def _shape(node: ast.AST, names: Names, top: bool = False) -> Iterator[Token]:
    """A node as words: its kind, then its parts. `top`: its own name is left out."""
    dotted = _chain(node, names)
    if dotted:
        yield _definition(dotted)
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        return
    yield "Assign" if isinstance(node, ast.AnnAssign) else type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in SILENT or (top and name == "name"):
            continue
        for item in _without_docstring(node, value) if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield from _shape(item, names)
            elif item is not None or isinstance(node, ast.Constant):
                yield f"{name} {item!r}"
    yield "."


def _chain(node: ast.AST, names: Names) -> str | None:
    """The full name of a name, or of an attribute of a module; None for other nodes."""
    if isinstance(node, ast.Name):
        dotted = names.dotted(node.id)
        return dotted if dotted != node.id or isinstance(node.ctx, ast.Load) else None
    if not isinstance(node, ast.Attribute):
        return None
    of = _chain(node.value, names)
    is_module = of is not None and of.startswith(WITHIN) and recipes.source(of).is_file()
    return f"{of}.{node.attr}" if is_module else None


def _without_docstring(node: ast.AST, items: list[ast.AST]) -> list[ast.AST]:
    if isinstance(node, recipes.DOCUMENTED) and items is node.body and ast.get_docstring(node, clean=False) is not None:
        return items[1:]
    return items
