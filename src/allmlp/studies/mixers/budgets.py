"""Models at equal steps, equal time and equal FLOPs: one loss per seed, read from curves of held-out losses.

A budget is what the model that stopped first has spent: in steps, in seconds on the device that trained both (a
model's seconds per step are the median over its seeds, since runs share a machine), or in counted FLOPs. Between two
tested steps a loss is read linearly in the logarithm of the steps. Where the learning rate decays to the end, a loss on
the way is no loss of a finished training: at equal time and equal FLOPs each run then counts with its end.
"""

import numpy as np
import pandas as pd

UNITS = {"steps": "steps", "seconds": "time", "flops": "FLOPs"}  # unit -> how a table names it
MODEL = ["variant", "size", "padding"]


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `learning_curve` with `steps`, and with `seconds` as the median over seeds of the model's."""
    per_run = rows.drop_duplicates("run")
    median = per_run.groupby(MODEL)["seconds_per_step"].median().rename("median_s")
    found = rows.drop(columns="seconds").merge(median, left_on=MODEL, right_index=True)
    return found.assign(steps=found["step"], seconds=found["step"] * found["median_s"]).drop(columns="median_s")


def spent(rows: pd.DataFrame, unit: str) -> float:
    """What every run of these rows has spent at its end: the least of them; a diverged run has spent its budget."""
    finished = rows[~rows["diverged"].astype(bool)]
    return float((finished if len(finished) else rows).groupby("run")[unit].max().min())


def budget(rows: list[pd.DataFrame], unit: str) -> float:
    """The largest budget in `unit` that all of these models have reached."""
    return min(spent(of_model, unit) for of_model in rows)


def at(rows: pd.DataFrame, unit: str, amount: float, value: str = "validation_nats") -> pd.Series:
    """seed -> loss of one model after `amount` of `unit`; nan for a diverged seed, and before its first test."""
    decays = rows["schedule"].ne("constant").any() and unit != "steps"
    return pd.Series(
        {
            seed: _read(of_seed, unit, np.inf if decays else amount, value)
            for seed, of_seed in rows.groupby("seed", sort=True)
        },
        dtype=float,
    )


def _read(of_seed: pd.DataFrame, unit: str, amount: float, value: str) -> float:
    points = of_seed[of_seed["step"].gt(0)].dropna(subset=value).sort_values("step")
    if of_seed["diverged"].any() or points.empty or amount < points[unit].iloc[0] * (1 - 1e-9):
        return float("nan")
    return float(np.interp(np.log(amount), np.log(points[unit]), points[value]))


def compared(first: pd.DataFrame, second: pd.DataFrame, unit: str, value: str = "validation_nats") -> np.ndarray:
    """The first model's loss minus the second's at their common budget, one number per seed that either has."""
    amount = budget([first, second], unit)
    return (at(first, unit, amount, value) - at(second, unit, amount, value)).to_numpy()


def ends(rows: pd.DataFrame, value: str = "validation_nats") -> pd.Series:
    """seed -> the loss after the last step; nan for a diverged seed."""
    last = rows.sort_values("step").groupby("seed").tail(1).set_index("seed").sort_index()
    return last[value].where(~last["diverged"].astype(bool)).astype(float)
