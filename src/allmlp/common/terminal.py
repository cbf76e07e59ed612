"""Tables and numbers for the terminal."""

from collections.abc import Iterable, Sequence


def align_columns(rows: Sequence[Iterable[str]], left: int) -> list[str]:
    """Lines with aligned columns: the first `left` columns to the left, all others to the right.

    >>> align_columns([("study", "runs"), ("copying", "9")], left=1)
    ['study    runs', 'copying     9']
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [str.ljust if place < left else str.rjust for place in range(len(widths))]
    lines = ([side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)] for row in cells)
    return ["  ".join(line).rstrip() for line in lines]


def format_si(number: float) -> str:
    """Three digits and a unit's prefix.

    >>> [format_si(number) for number in (0, 999, 1234, 999_700, 5e7)]
    ['0', '999', '1.23 k', '1 M', '50 M']
    """
    for limit, suffix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if float(f"{number:.3g}") >= limit:
            return f"{number / limit:.3g} {suffix}"
    return f"{number:g}"


def duration(hours: float) -> str:
    """An estimate, as exactly as it is known; something is at least a minute.

    >>> [duration(hours) for hours in (0, 0.004, 0.7, 5.63, 41.2, 1234)]
    ['0 min', '1 min', '42 min', '5.6 h', '41 h', '1,234 h']
    """
    if hours < 1:
        return f"{max(round(60 * hours), int(hours > 0))} min"
    return f"{hours:.1f} h" if hours < 10 else f"{hours:,.0f} h"
