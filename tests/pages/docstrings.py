"""The house's docstrings, plain text with `code` between backticks, as reStructuredText."""

import re
from collections.abc import Iterator, Sequence

MARKUP = re.compile(r"([\\*_|])")


def structured(lines: Sequence[str]) -> list[str]:
    """A docstring's lines. Indented text and tables become literal blocks; examples (`>>>`) stay as they are.

    >>> structured(["Reads `x_BT`s, for all *args.", "", "    a: 1"])
    ['Reads ``x_BT``\\\\ s, for all \\\\*args.', '', '::', '', '        a: 1', '']
    """
    found = []
    for paragraph in _paragraphs(lines):
        if paragraph[0].startswith(">>>"):
            found += paragraph
        elif paragraph[0][0] in " |":
            found += ["::", "", *(f"    {line}" for line in paragraph)]
        else:
            found += _prose(paragraph)
        found.append("")
    return found


def _paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """Paragraphs; an indented one goes on over blank lines as long as the lines are indented."""
    current: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            current.append(line)
        elif current:
            yield current
            current = []


def _prose(paragraph: list[str]) -> list[str]:
    """Lines of a paragraph; an item of a list keeps its indent, other lines lose theirs."""
    items = any(line.startswith("- ") for line in paragraph)
    found: list[str] = []
    for line in paragraph:
        if line.startswith("- ") and found and not found[-1].startswith(("- ", "  ")):
            found.append("")  # a list begins a paragraph of its own
        found.append(_escaped(line if items else line.strip()))
    return found


def _escaped(line: str) -> str:
    """A line in which only code between backticks is markup."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return MARKUP.sub(r"\\\1", line.replace("`", "'"))
    text = ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            text += MARKUP.sub(r"\\\1", part)
        elif part:
            joined = "\\ " if text[-1:].isalnum() else ""
            text += f"{joined}``{part}``" + ("\\ " if parts[number + 1][:1].isalnum() else "")
    return text
