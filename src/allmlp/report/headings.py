"""Headings of tables from the names of their columns, and a mean with its interval in one cell.

>>> heading("validation_nats"), heading("word_share_1"), heading("top_1_low"), heading("at_0.003")
('validation (nats)', 'word share', 'top 1, low', 'at 0.003')
"""

import re

import pandas as pd

from allmlp.report.names import COLUMNS, display

UNITS = {"nats": "nats", "mb": "MB", "s": "s", "ms": "ms", "rad": "rad", "millions": "millions", "1": ""}
NAME = re.compile(r"(?P<name>.+?)(?<!_per)_(?P<unit>nats|mb|s|ms|rad|millions|1)")
ENDS = re.compile(r"_(low|high)(?=_|$)")
LOW, END = re.compile(r"(^|_)low(?=_|$)"), re.compile(r"(^|_)(low|high)(_|$)")
KEPT = ("top_1",)  # a digit that is no unit


def heading(name: str) -> str:
    """What stands above a column."""
    bare, end = ENDS.sub("", name), ENDS.search(name)
    found = None if bare in KEPT else NAME.fullmatch(bare)
    words = (found["name"] if found else bare).replace("_", " ")
    unit = UNITS[found["unit"]] if found else ""
    return words + (f", {end[1]}" if end else "") + (f" ({unit})" if unit else "")


def round_cell(cell: str) -> str:
    """A number in a cell of a table to four digits; a dash for an empty cell."""
    if cell == "nan":
        return "-"
    try:
        return f"{float(cell):.4g}" if "." in cell else cell
    except ValueError:
        return cell


def format_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The table as the page prints it: headings, rounded numbers, and `mean [low, high]` in place of three columns."""
    cells = rows.map(round_cell)
    for name in cells.columns.intersection(list(COLUMNS)):
        cells[name] = cells[name].map(display)
    names = [str(name) for name in cells.columns]
    lows = {number for number in range(1, len(names) - 1) if _is_interval_start(names, number)}
    columns = {}
    for number, name in enumerate(names):
        if number + 1 in lows:
            low, high = cells[names[number + 1]], cells[names[number + 2]]
            within = "\u00a0[" + low + ",\u00a0" + high + "]"
            columns[heading(name)] = cells[name] + within.where(~low.isin(["-", ""]), "")
        elif not {number, number - 1} & lows:
            columns[heading(name)] = cells[name]
    return pd.DataFrame(columns)


def _is_interval_start(names: list[str], number: int) -> bool:
    """Do an interval's low and high stand at this place and the next, after a column that is no end itself?"""
    before, low, high = names[number - 1 : number + 2]
    return not END.search(before) and LOW.search(low) is not None and LOW.sub(r"\1high", low) == high
