"""Runs of one setting combined for a figure or table: mean and 95 % t interval over seeds, many groups at once."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit


def aggregate_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Columns `by`, mean, low, high, n: one row per group, one value per run in it.

    low and high are nan for a single run; mean is nan too if a value is not finite (a diverged seed). Raises ValueError
    if a run has two values in a group: the unit is the run.
    """
    twice = rows[rows.duplicated([*by, "run"])]
    if len(twice):
        raise ValueError(f"{value}: several rows of one run at {twice[by].iloc[0].to_dict()}")
    values = rows[value].astype(float)
    keys = [rows[name] for name in by]
    groups = values.where(np.isfinite(values)).groupby(keys, sort=True)
    found = groups.agg(["mean", "std", "count", "size"])
    found.loc[found["count"] < found["size"], "mean"] = np.nan
    degrees = (found["size"] - 1).clip(lower=1)
    half = (stdtrit(degrees, 0.975) * found["std"] / np.sqrt(found["size"])).where(found["size"] > 1)
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half, n=found["size"])
    return found.rename_axis(by).reset_index()[[*by, "mean", "low", "high", "n"]]


def curve(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Columns step, mean, low, high, n of a value over the steps that every run of `rows` has.

    If a run diverged, the curve ends at its last step instead of going on with the other runs.
    """
    by_step = rows.dropna(subset=value).groupby("step")["run"].transform("nunique")
    everywhere = rows.dropna(subset=value)[by_step == rows["run"].nunique()]
    return aggregate_seeds(everywhere, ["step"], value)


def histogram(rows: pd.DataFrame, column: str, edges: NDArray[np.float64]) -> pd.DataFrame:
    """Columns bin, mean, low, high, n: the share of each run's rows in every bin between `edges`."""
    shares = {run: np.histogram(of_run[column].dropna(), edges)[0] / len(of_run) for run, of_run in rows.groupby("run")}
    found = pd.DataFrame(shares).rename_axis("bin").reset_index().melt("bin", var_name="run", value_name="share")
    return aggregate_seeds(found, ["bin"], "share")


def summary(rows: pd.DataFrame, by: list[str], /, **columns: str | tuple[str, str]) -> pd.DataFrame:
    """One row per group, for a table: columns `by`, then `columns` in their order.

    A column is a pair as of pandas' `agg`, such as ("run", "nunique"), or the name of a value: its mean over seeds, and
    name_low and name_high for the 95 % t interval. Values are one per run and group.
    """
    groups, found = rows.groupby(by), {}
    for name, of in columns.items():
        if isinstance(of, tuple):
            found[name] = groups[of[0]].agg(of[1])
        else:
            means = aggregate_seeds(rows, by, of).set_index(by)
            found |= {name: means["mean"], f"{name}_low": means["low"], f"{name}_high": means["high"]}
    return pd.DataFrame(found).reset_index()


def last_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The last kept step of each run."""
    return rows[rows["step"] == rows.groupby("run")["step"].transform("max")]
