"""The errors that the code answers wrong input with: the `UserError`s of the sources."""

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.conftest import PROJECT
from tests.pages.markdown import plain

HEAD = """# Errors

An error names the file, the value and the way out, in one line and without a traceback, and the command ends with
status 2. These are the errors that the sources write, by the part of the code that finds them; … stands for what a
message names. Wrong keys and values of YAML files are named with file and line besides. A traceback is a fault of ours:
please report it.

"""
SOURCES = PROJECT / "src/allmlp"
HOLE = "…"


def page() -> str:
    """A section for each package, an error on each line."""
    found = sorted({(package, text) for path in sorted(SOURCES.rglob("*.py")) for package, text in _errors(path)})
    return HEAD + "".join(
        f"## {package}\n\n" + "".join(f"- {plain(text)}\n" for _, text in of) + "\n"
        for package, of in groupby(found, key=lambda one: one[0])
    )


def _errors(path: Path) -> Iterator[tuple[str, str]]:
    package = path.relative_to(SOURCES).parts[0].removesuffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "UserError" and node.args:
            text = " ".join(_words(node.args[0]).split())
            if text.replace(HOLE, "").strip(" :.,;"):  # else another function writes all of it
                yield package, text


def _words(node: ast.expr) -> str:
    """The text of an expression, with a hole for each value.

    >>> _words(ast.parse("f'{path}: lacks ' + name").body[0].value)
    '…: lacks …'
    """
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_words, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _words(left) + _words(right)
        case _:
            return HOLE
