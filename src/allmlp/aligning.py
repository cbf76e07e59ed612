"""Tables for the terminal."""

from collections.abc import Iterable, Sequence


def aligned(rows: Sequence[Iterable[str]], left: int) -> list[str]:
    """Lines with aligned columns: the first `left` columns to the left, all others to the right.

    >>> aligned([("study", "runs"), ("copying", "9")], left=1)
    ['study    runs', 'copying     9']
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [str.ljust if place < left else str.rjust for place in range(len(widths))]
    lines = ([side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)] for row in cells)
    return ["  ".join(line).rstrip() for line in lines]
