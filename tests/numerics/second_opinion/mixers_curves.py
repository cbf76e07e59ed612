"""The curves of study 001's models, and two of them compared after the same amount of something.

A loss at an amount of steps, seconds or operations between two held-out tests is read by a straight line over the
logarithm of the amount, which the words leave open.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tests.numerics.second_opinion.stored import BySeed, Measured, Row, grouped, minus, number, step_seconds

Unit = Literal["step", "seconds", "flops"]
HELD_OUT, TRAINED = "validation_nats", "train_nats"


@dataclass(frozen=True)
class Model:
    """The curves of one model: seed -> its rows."""

    runs: dict[int, list[Row]]
    seconds: float  # per step

    def amount(self, row: Row, unit: Unit) -> float:
        return float(row["step"]) * self.seconds if unit == "seconds" else float(row[unit])

    def spent(self, unit: Unit) -> float:
        """What every one of its runs has had."""
        return min(max(self.amount(row, unit) for row in rows) for rows in self.runs.values())

    def at(self, unit: Unit, amount: float, column: str = HELD_OUT) -> BySeed:
        """seed -> the loss after this amount."""
        found = {}
        for seed, rows in self.runs.items():
            points = sorted(
                (math.log(self.amount(row, unit)), row[column])
                for row in rows
                if row["step"] > 0 and not math.isnan(number(row[column]))
            )
            found[seed] = float(np.interp(math.log(amount), *zip(*points, strict=True)))
        return found


def model(
    data: Measured,
    variant: str,
    padding: str = "right",
    part: str = "training",
    measure: str = "learning_curve",
    **size: Any,
) -> Model:
    """A model of the comparison: of the size that all share, or of another width and depth."""
    labels = {"variant": variant, "padding": padding, "part": part, **(size or {"size": "base"})}
    rows = data.rows(measure, **labels)
    assert rows, labels
    one = rows[0]
    name = f"{variant}-d{one['d_model']}-n{one['n_blocks']}-b{one['batch_size']}{'-left' if padding == 'left' else ''}"
    return Model(grouped(rows, "seed"), float(np.median(step_seconds()[name])))


def compared(first: Model, second: Model, unit: Unit, column: str = HELD_OUT) -> np.ndarray:
    """Per seed the loss of the first minus that of the second, after what both have had."""
    amount = min(first.spent(unit), second.spent(unit))
    return minus(first.at(unit, amount, column), second.at(unit, amount, column))
