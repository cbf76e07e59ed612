"""Common to the rules of study 001's trainings: printed losses, and orders that only a reversed sign refutes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.judging.evidence_summary import Rule, apply_rule
from allmlp.judging.multiplicity import partial_conjunction, require_all_parts
from allmlp.judging.rules import NotComparableError, join_findings, judge_all, part_rows, undecided_finding
from allmlp.judging.statistics import (
    DECIDED,
    FEWEST_SEEDS,
    Finding,
    Values,
    Verdict,
    interval_text,
    judge_better,
    judge_prediction,
    p_outside,
    t_interval,
)
from allmlp.spec import labels
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.names import TRAINING

NATS, LOSS = "nats per token", "validation_nats"
PAPER_SCALE = "paper"
TIMED = "at equal time"  # in the name of a part


def trainings(evidence: Evidence, part: str = TRAINING) -> pd.DataFrame:
    """The curves of the comparison, with what each step has cost."""
    return budgets.curves(part_rows(evidence.table("learning_curve"), part), evidence.scale)


def note_clock(finding: Finding, rows: pd.DataFrame) -> Finding:
    """The finding, with the source of the seconds per step in its text."""
    return replace(finding, text=f"{finding.text}; seconds per step of {rows['clock'].iloc[0]}")


def judge_parts(parts: Mapping[str, Callable[[], Finding]], rows: pd.DataFrame | None = None) -> Finding:
    """A claim in parts, judged separately. A part with runs that are not comparable names them and is not judged.

    rows: the curves, if parts compare at equal time; their text then names the clock. Raises NotComparableError if no
    part can be judged.
    """
    found: dict[str, Finding] = {}
    refused: list[NotComparableError] = []
    for name, judge in parts.items():
        try:
            found[name] = judge() if rows is None or TIMED not in name else note_clock(judge(), rows)
        except NotComparableError as error:
            refused.append(error)
            found[name] = undecided_finding(f"not judged: {error}")
    if refused and all(finding.n == 0 for finding in found.values()):
        raise refused[0]
    return require_all_parts(found)


def judge_printed(
    evidence: Evidence, losses: Mapping[str, Values], *, tolerated: int = 0, refuting: int = 1
) -> Finding:
    """Printed losses against prediction intervals: key of the claim's `paper` -> our losses, one per seed.

    Reproduced with at most `tolerated` of them outside and no interval wider than the claim allows; contradicted with
    at least `refuting` outside. A loss without a planned run (an empty one) is undecided.
    """
    limit = evidence.margin["half_width_nats"]
    found = {
        key: judge_prediction(
            values, evidence.paper[key], max_half_width=limit, rounding=rounding(evidence.paper[key]), unit=NATS
        )
        for key, values in losses.items()
    }
    verdict, rests = join_findings(found.values(), tolerated=tolerated, refuting=refuting)
    text = "; ".join(f"{labels.find_label(key).words}: {finding.text}" for key, finding in found.items())
    n = min(finding.n for finding in found.values())
    inside = sum(finding.verdict == "reproduced" for finding in found.values())
    unit = f"of {len(found)} printed losses inside"
    p_against = partial_conjunction((finding.p_against for finding in found.values()), refuting)
    here, number = {key: finding.value for key, finding in found.items()}, float(inside)
    return Finding(verdict, number, math.nan, math.nan, n, unit, text, rests=rests, p_against=p_against, here=here)


def judge_at_paper_size(evidence: Evidence, losses: dict[str, Values] | None, **counts: int) -> Finding:
    """`judge_printed`, if the runs have the article's size and length; otherwise not judged."""
    if losses is None or evidence.scale != PAPER_SCALE:
        return undecided_finding("not judged: the printed losses are of the article's size, data and unit of time")
    return judge_printed(evidence, losses, **counts)


def last_losses(rows: pd.DataFrame, prefix: str) -> dict[str, Values]:
    """The last training and held-out losses of one model, by the names of a claim's two printed numbers."""
    return {
        f"{prefix}train_loss_nats": budgets.ends(rows, "train_nats").to_numpy(),
        f"{prefix}validation_loss_nats": budgets.ends(rows).to_numpy(),
    }


def rounding(value: float) -> float:
    """Half a unit of the last digit that the article prints: two digits after the point, or three."""
    return 0.5e-2 if round(value, 2) == value else 0.5e-3


def judge_within(values: Values, low: float, high: float, unit: str) -> Finding:
    """Does the 95 % t interval of `values` lie inside `low` to `high`? Wholly outside: contradicted."""
    finding, rule = judge_better(values, low, unit=unit), Rule("inside", low, high)
    text = f"{interval_text(t_interval(values), 0.95, 't', unit)}, against {low:.3g} to {high:.3g}"
    verdict = DECIDED[int(rule.decide(values))]
    rests, p_against = {"": apply_rule(rule, values)}, p_outside(values, low, high)
    return replace(finding, verdict=verdict, text=text, p=None, rests=rests, p_against=p_against)


def judge_all_behind(losers: Mapping[str, pd.Series], winner: pd.Series, margin: float, level: float = 0.95) -> Finding:
    """Does each of several models lose more than `winner` by more than `margin`? One number for each of them.

    losers: model -> seed -> loss; winner: seed -> loss. The smallest of their losses in each seed would be another
    model in each seed, and lower than any of them by their noise alone.
    """
    return judge_all(
        {
            name: judge_better(budgets.paired_differences(losses, winner).to_numpy(), margin, level, unit=NATS)
            for name, losses in losers.items()
        }
    )


def judge_behind(loser: pd.DataFrame, winner: pd.DataFrame, unit: str, margin: float, value: str = LOSS) -> Finding:
    """Does `loser` lose more than `winner` by more than `margin`, at the same amount of `unit`?"""
    return judge_better(budgets.loss_differences(loser, winner, unit, value), margin, unit=NATS)


def every_seed_verdict(changed: NDArray[np.bool_], n: int, *, claimed: bool = True) -> Verdict:
    """Did something change in all of `n` seeds (claimed), or in none?"""
    if n < FEWEST_SEEDS:
        return "undecided"
    if changed.all() if claimed else not changed.any():
        return "reproduced"
    return "contradicted" if not claimed or not changed.any() else "undecided"
