"""How a run of a search ended, by its measurements: a search needs no checkpoints then."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allmlp.measurements import measurement, store
from allmlp.spec.run import Run

COST, FALLS = "cost", "falls"
ACCURACY = "token_accuracy"  # the score of a log that `Run.until` reads
ARRIVED = 0.99  # "99 % accuracy" (002, Figure 4): of supervised tokens of the training batch, before its update
ITERATIONS = "iterations_to_99"
MILESTONES = ("iterations", "to_10_steps", "to_half_steps", "to_90_steps")  # of the measure `falls`, the last one first


def held_out_loss(run: Run) -> float | None:
    """The last held-out loss in nats, infinite for a diverged run. None if it is not measured, or has none."""
    if (row := _row(run, COST)) is None:
        return None
    if row["diverged"]:
        return math.inf
    loss: float | None = row["validation_nats"]
    return loss if loss is not None and math.isfinite(loss) else None


def milestones(row: Mapping[Any, Any]) -> tuple[float, ...] | None:
    """log2 of the steps to 99 % accuracy, then to each earlier milestone, of a row of `falls`.

    A run that never got there counts with its budget. Infinite where it diverged; None without a row.
    """
    if not row:
        return None
    if row["diverged"]:
        return (math.inf,) * len(MILESTONES)
    return tuple(math.log2(max(1, row[name])) for name in MILESTONES)


def first_step_at_level(steps: ArrayLike, accuracy: ArrayLike, level: float = ARRIVED) -> int | None:
    """The first of `steps` (n,) with an `accuracy` (n,) of at least `level`; None without any (censored)."""
    at = np.flatnonzero(np.asarray(accuracy, dtype=np.float64) >= level)  # nan, of a diverged run, never reaches it
    return int(np.asarray(steps)[at[0]]) if len(at) else None


def search_numbers(run: Run, criterion: str) -> tuple[float, ...] | None:
    """The numbers by which a search compares a run, the decisive one first; None if they are not measured."""
    if criterion == ITERATIONS:
        return milestones(_row(run, FALLS) or {})
    loss = held_out_loss(run)
    return None if loss is None else (loss,)


def runs_it_reads(run: Run) -> tuple[str, ...]:
    """The ids of the runs whose checkpoints its training reads: its parent, and runs of its search that are not
    measured."""
    return tuple(
        one for one in run.needs if one == run.parent or search_numbers(run.relatives[one], run.criterion) is None
    )


def _row(run: Run, measure: str) -> dict[str, Any] | None:
    """The one row of a measure; None if it is not measured."""
    if measure not in run.measures:
        return None
    stored, key = store.read_measure(run.study, measure), run.keys[measure]
    if key in stored.places:
        return stored.first_row(key)
    if not os.path.isfile(file := run.measurements[measure]):
        return None
    rows = measurement.read(Path(file))[1]
    return {name: rows[name][0].as_py() for name in rows.column_names}
