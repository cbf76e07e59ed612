"""Common to the rules of study 001's trainings: printed losses, and orders that only a reversed sign refutes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp import labels
from allmlp.protocols import Evidence
from allmlp.report.deciding import Rule, on
from allmlp.report.multiplicity import at_least, whole
from allmlp.report.statistics import (
    DECIDED,
    FEWEST_SEEDS,
    Finding,
    Values,
    Verdict,
    better,
    p_outside,
    said,
    t_interval,
    within_prediction,
)
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.named import TRAINING
from allmlp.studies.rules import NotComparableError, counted, of_part, undecided

NATS, LOSS = "nats per token", "validation_nats"
PAPER_SCALE = "paper"
TIMED = "at equal time"  # in the name of a part


def trainings(evidence: Evidence, part: str = TRAINING) -> pd.DataFrame:
    """The curves of the comparison, with what each step has cost."""
    return budgets.curves(of_part(evidence.table("learning_curve"), part), evidence.scale)


def by_clock(finding: Finding, rows: pd.DataFrame) -> Finding:
    """The finding, with the source of the seconds per step in its text."""
    return replace(finding, text=f"{finding.text}; seconds per step of {rows['clock'].iloc[0]}")


def of_parts(parts: Mapping[str, Callable[[], Finding]], rows: pd.DataFrame | None = None) -> Finding:
    """A claim in parts, judged separately. A part with runs that are not comparable names them and is not judged.

    rows: the curves, if parts compare at equal time; their text then names the clock. Raises NotComparableError if no
    part can be judged.
    """
    found: dict[str, Finding] = {}
    refused: list[NotComparableError] = []
    for name, judge in parts.items():
        try:
            found[name] = judge() if rows is None or TIMED not in name else by_clock(judge(), rows)
        except NotComparableError as error:
            refused.append(error)
            found[name] = undecided(f"not judged: {error}")
    if refused and all(finding.n == 0 for finding in found.values()):
        raise refused[0]
    return whole(found)


def printed(evidence: Evidence, losses: Mapping[str, Values], *, tolerated: int = 0, refuting: int = 1) -> Finding:
    """Printed losses against prediction intervals: key of the claim's `paper` -> our losses, one per seed.

    Reproduced with at most `tolerated` of them outside and no interval wider than the claim allows; contradicted with
    at least `refuting` outside. A loss without a planned run (an empty one) is undecided.
    """
    limit = evidence.margin["half_width_nats"]
    found = {
        key: within_prediction(
            values, evidence.paper[key], max_half_width=limit, rounding=rounding(evidence.paper[key]), unit=NATS
        )
        for key, values in losses.items()
    }
    verdict, rests = counted(found.values(), tolerated=tolerated, refuting=refuting)
    text = "; ".join(f"{labels.of(key).words}: {finding.text}" for key, finding in found.items())
    n = min(finding.n for finding in found.values())
    inside = sum(finding.verdict == "reproduced" for finding in found.values())
    unit = f"of {len(found)} printed losses inside"
    p_against = at_least((finding.p_against for finding in found.values()), refuting)
    here, number = {key: finding.value for key, finding in found.items()}, float(inside)
    return Finding(verdict, number, math.nan, math.nan, n, unit, text, rests=rests, p_against=p_against, here=here)


def only_on_paper(evidence: Evidence, losses: dict[str, Values] | None, **counts: int) -> Finding:
    """`printed`, if the runs have the article's size and length; otherwise not judged."""
    if losses is None or evidence.scale != PAPER_SCALE:
        return undecided("not judged: the printed losses are of the article's size, data and unit of time")
    return printed(evidence, losses, **counts)


def both(rows: pd.DataFrame, prefix: str) -> dict[str, Values]:
    """The last training and held-out losses of one model, by the names of a claim's two printed numbers."""
    return {
        f"{prefix}train_loss_nats": budgets.ends(rows, "train_nats").to_numpy(),
        f"{prefix}validation_loss_nats": budgets.ends(rows).to_numpy(),
    }


def rounding(value: float) -> float:
    """Half a unit of the last digit that the article prints: two digits after the point, or three."""
    return 0.5e-2 if round(value, 2) == value else 0.5e-3


def within(values: Values, low: float, high: float, unit: str) -> Finding:
    """Does the 95 % t interval of `values` lie inside `low` to `high`? Wholly outside: contradicted."""
    finding, rule = better(values, low, unit=unit), Rule("inside", low, high)
    text = f"{said(t_interval(values), 0.95, 't', unit)}, against {low:.3g} to {high:.3g}"
    verdict = DECIDED[int(rule.decide(values))]
    rests, p_against = {"": on(rule, values)}, p_outside(values, low, high)
    return replace(finding, verdict=verdict, text=text, p=None, rests=rests, p_against=p_against)


def smallest(losses: Mapping[str, pd.Series]) -> pd.Series:
    """Per seed, the smallest of several models' losses; nan where one of them has none."""
    return pd.DataFrame(dict(losses)).min(axis=1, skipna=False)


def behind(loser: pd.DataFrame, winner: pd.DataFrame, unit: str, margin: float, value: str = LOSS) -> Finding:
    """Does `loser` lose more than `winner` by more than `margin`, at the same amount of `unit`?"""
    return better(budgets.compared(loser, winner, unit, value), margin, unit=NATS)


def in_every_seed(changed: NDArray[np.bool_], n: int, *, claimed: bool = True) -> Verdict:
    """Did something change in all of `n` seeds (claimed), or in none?"""
    if n < FEWEST_SEEDS:
        return "undecided"
    if changed.all() if claimed else not changed.any():
        return "reproduced"
    return "contradicted" if not claimed or not changed.any() else "undecided"
