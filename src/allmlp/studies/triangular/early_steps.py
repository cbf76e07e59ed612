"""The beginning of a training: the steps before the model has learned enough to write words (004-2, -4, own-2).

The paper's first milestone is "meaningful words". Samples of the model as published are half words where its loss on
novels is WORDS nats per character, whatever the learning rate and the number of steps. The loss is that of the training
batches, as in the published code: all variants of a seed see the same ones, and each step has one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.studies.shared.curve_statistics import first_step_below, interval_mean

WORDS = 1.95


class Curve(NamedTuple):
    """Training loss over steps, (n,), nats per token; `per_character` turns it into nats per character."""

    steps: NDArray
    loss: NDArray
    per_character: float


def run_curve(rows: pd.DataFrame) -> Curve:
    """The curve of one run's rows of `loss_curve`."""
    logged = rows.dropna(subset="loss_nats").sort_values("step", kind="stable")
    per = (rows["validation_nats_per_character"] / rows["validation_nats"]).median()
    return Curve(logged["step"].to_numpy(), logged["loss_nats"].to_numpy(dtype=float), float(per))


def last_step(curves: Sequence[Curve]) -> int:
    """The last step of the beginning: the first one of the curves is down to WORDS there, or all of them end."""
    words = [first_step_below(curve.steps, curve.loss, WORDS / curve.per_character) for curve in curves]
    return min((step for step in words if step is not None), default=max(int(curve.steps[-1]) for curve in curves))


def early_losses(curves: Sequence[Curve]) -> list[float]:
    """Each curve's mean loss over their common beginning, nats per token; nan for one that stops, diverged, in it."""
    if not all(len(curve.steps) for curve in curves):
        return [float("nan")] * len(curves)
    last = last_step(curves)
    return [
        interval_mean(curve.steps, curve.loss, 0, last)
        if curve.steps[-1] >= last and np.isfinite(curve.loss[curve.steps <= last]).all()
        else float("nan")
        for curve in curves
    ]


def early_nats(rows: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Mean loss of these variants over their common beginning: a row per seed, a column per variant."""
    runs = {key: run_curve(of_run) for key, of_run in rows.groupby(["seed", "variant"])}
    seeds = sorted(rows["seed"].unique())
    nothing = Curve(np.array([]), np.array([]), 1.0)
    found = {seed: early_losses([runs.get((seed, name), nothing) for name in variants]) for seed in seeds}
    return pd.DataFrame.from_dict(found, orient="index", columns=list(variants)).rename_axis("seed")
