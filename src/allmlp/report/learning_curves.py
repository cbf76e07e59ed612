"""Learning curves that a reader of the page can choose from: each model of each text, every seed, in four units.

A series is one model on one text. Steps, tokens, counted operations and seconds of a model are in a fixed ratio, so a
series holds its steps and the amount of each unit per step:

    {"name": "flat mixer", "colour": "#0072B2", "dash": 0, "shown": True, "per": {"steps": 1, "tokens": 1024.0, ...},
     "losses": {"held-out": {"steps": [7, 15], "seeds": {"0": [6.8112, 5.9811], ...}}, "training": ...}}

A loss that is not known, or is not finite, is null. A unit that is not known of a model is left out of its `per`.
"""

import math
import re
from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allmlp.judging import evidence
from allmlp.judging.complete_runs import Unit
from allmlp.judging.evidence import Evidence
from allmlp.measurements.thinning import kept_rows
from allmlp.report import first_screen, style

MOST = 90  # points of a curve, so that the page stays small
DECIMALS = 4  # of a loss in nats
Series = dict[str, Any]


class Curves(NamedTuple):
    """The learning curves of a study: the measure and the rows that they are made of.

    `losses`: what the page calls a loss -> its column. `read`: rows with the columns series, colour (empty: a neutral
    one), shown (before a reader chooses), per_second and per_operation (their amounts per step); and place, where the
    figure has an order: the first of a colour is drawn without dashes.
    """

    measure: str
    losses: dict[str, str]
    parts: tuple[str, ...]
    also: tuple[str, ...]
    read: Callable[[pd.DataFrame, str], pd.DataFrame]


def texts(study: str, curves: Curves, corpora: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts of a study with their series, the largest scale first; those of the trial scale are left out."""
    found = []
    planned = [at for scale, at in evidence.evidence_by_scale(study).items() if scale != "smoke"]
    for source in [*reversed(planned), *evidence.evidence_by_overlay(study).values()]:
        at = source.complete_set(Unit((curves.measure,), curves.parts, curves.also))
        if at is not None:
            text = ", ".join(first_screen.texts(at.corpora([curves.measure]), corpora))
            found.append({"text": f"{text}, {at.scale}", "series": series(curves, _rows(at, curves.measure), at.scale)})
    return found


def _rows(at: Evidence, measure: str) -> pd.DataFrame:
    """The rows of the curves, each with what its run cost."""
    rows, cost = at.table(measure), at.table("cost")
    return rows.merge(cost[["run", *cost.columns.difference(rows.columns)]], on="run", how="left")


def series(curves: Curves, rows: pd.DataFrame, scale: str) -> list[Series]:
    """The series of one text: those that are shown first come first, then by name."""
    read = curves.read(rows, scale)
    read = read[read["step"].gt(0)].assign(per_token=read["supervised_tokens"] / read["steps_done"])
    found: list[Series] = []
    for (shown, name), of_series in read.groupby(["shown", "series"]):
        per = {unit: _median(of_series[column]) for unit, column in UNITS.items()}
        found.append(
            {
                "name": name,
                "colour": of_series["colour"].iloc[0],
                "shown": bool(shown),
                "place": float(of_series["place"].iloc[0]) if "place" in of_series else math.inf,
                "per": {"steps": 1, **{unit: amount for unit, amount in per.items() if amount is not None}},
                "losses": {loss: _points(of_series, column) for loss, column in curves.losses.items()},
            }
        )
    found.sort(key=lambda one: (not one["shown"], one["place"], not one["colour"], _natural_key(one["name"])))
    return _assign_colours([{key: value for key, value in one.items() if key != "place"} for one in found])


def _natural_key(name: str) -> list[tuple[int, str]]:
    """A key that sorts `context 8` before `context 32`, and `heads-2` before `heads-16`."""
    return [(int(word), "") if word.isdigit() else (0, word) for word in re.split(r"(\d+)", name)]


def _assign_colours(found: list[Series]) -> list[Series]:
    """Series without a colour take the neutral ones in turn. Those of one colour differ by their `dash`."""
    neutral = cycle(style.NEUTRAL)
    coloured = [{**one, "colour": one["colour"] or next(neutral)} for one in found]
    before = [one["colour"] for one in coloured]
    return [{**one, "dash": before[:place].count(one["colour"])} for place, one in enumerate(coloured)]


UNITS = {"tokens": "per_token", "operations": "per_operation", "seconds": "per_second"}


def _median(values: pd.Series) -> float | None:
    known = values[np.isfinite(values.astype(float))]
    return float(f"{known.median():.6g}") if len(known) else None


def _points(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    """Steps and the losses of each seed at them: at most `MOST`, half of them evenly in the logarithm."""
    known = rows.dropna(subset=column)
    table = known.pivot_table(index="step", columns="seed", values=column, aggfunc="last", sort=True)
    table = table.iloc[kept_rows(len(table), MOST)]
    losses = {
        str(seed): [round(loss, DECIMALS) if np.isfinite(loss) else None for loss in of_seed.tolist()]
        for seed, of_seed in table.items()
    }
    return {"steps": table.index.tolist(), "seeds": losses}
