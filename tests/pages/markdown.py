"""Markdown as text: tables, and words of the code in which no letter is markup."""

import re
from collections.abc import Iterable, Sequence

MARKUP = re.compile(r"([\\*_<>\[\]|#$])")


def plain(text: str) -> str:
    """A text without markup, except that what stands between backticks is code.

    >>> plain("a*b of <run>, `x_BTD`")
    'a\\\\*b of \\\\<run\\\\>, `x_BTD`'
    """
    parts = text.split("`")
    return "`".join(part if number % 2 else MARKUP.sub(r"\\\1", part) for number, part in enumerate(parts))


def cell(text: str) -> str:
    """The same on one line, for a cell of a table. In code, too, a bar would end the cell."""
    line = " ".join(plain(text).split())
    return re.sub(r"(?<!\\)\|", r"\\|", line)


def code(text: object) -> str:
    """A text as code, or nothing."""
    return f"`{text}`" if str(text) else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without columns that are empty; cells are given as Markdown (`cell`, `code`)."""
    columns = [column for column in zip(heads, *rows, strict=True) if any(column[1:])]
    first, *others = (f"| {' | '.join(line)} |\n" for line in zip(*columns, strict=True))
    return "".join([first, "| --- " * len(columns), "|\n", *others])


def paragraphs(docstring: str | None) -> str:
    """A docstring: indented lines and tables as they stand, the rest as plain text."""
    found = [one for one in (docstring or "").strip("\n").split("\n\n") if one.strip()]
    return "".join(f"```text\n{one}\n```\n\n" if one[0] in " |>" else f"{plain(one)}\n\n" for one in found)


def first(docstring: str | None) -> str:
    """The first sentence of a docstring, for a cell."""
    paragraph = " ".join((docstring or "").split("\n\n")[0].split())
    return cell(re.split(r"(?<=[.?!])(?<!\b[A-Z][a-z][a-z]\.) (?=[A-Z`])", paragraph)[0])
