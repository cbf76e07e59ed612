"""The runs that the page looks up: a row each of runs.csv, and those behind each claim. Texts that recur stand once."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pandas as pd

from allmlp.report.headings import heading, round_cell

SHOWN = (
    "run",
    "study",
    "scale",
    "corpus",
    "steps_done",
    "seed",
    "parameters",
    "validation_nats",
    "seconds",
    "levelled",
    "hardware",
    "versions",
)


def runs_piece(rows: pd.DataFrame, entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """`heads`; per column its `words`, and for each run the place of its word; claim -> the ranges of its rows."""
    cells = rows[list(SHOWN)].map(round_cell)
    places = {run: list(group) for run, group in rows.groupby("run").indices.items()}
    columns = []
    for name in SHOWN:
        codes, words = pd.factorize(cells[name])
        columns.append({"words": list(words)} | ({} if len(words) == len(cells) else {"codes": codes.tolist()}))
    behind = {entry["id"]: entry.get("runs") or [] for entry in entries}
    claims = {claim: _ranges(n for run in found for n in places.get(run, [])) for claim, found in behind.items()}
    return {
        "heads": [heading(name) for name in SHOWN],
        "columns": columns,
        "claims": {claim: found for claim, found in claims.items() if found},
    }


def _ranges(places: Iterable[int]) -> list[list[int]]:
    """First and last of each stretch of neighbours.

    >>> _ranges([4, 2, 3, 9])
    [[2, 4], [9, 9]]
    """
    stretches = groupby(enumerate(sorted(set(places))), key=lambda one: one[1] - one[0])
    return [[int(found[0]), int(found[-1])] for _, group in stretches if (found := [place for _, place in group])]
