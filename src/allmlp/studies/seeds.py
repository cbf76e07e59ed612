"""Runs of one setting put together for a figure or table: mean and 95 % t interval over seeds."""

import math

import pandas as pd

from allmlp.report.statistics import t_interval


def over_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Columns `by`, mean, low, high, n: one row per group, one value per run in it.

    low and high are nan where one run gives no interval, mean too where a run's value is not finite (a
    diverged seed counts). Raises ValueError where a run has two values in a group: the unit is the run.
    """
    groups = []
    for key, group in rows.groupby(by, sort=True):
        if group["run"].duplicated().any():
            raise ValueError(f"{value}: several rows of one run at {dict(zip(by, key, strict=True))}")
        interval = t_interval(group[value].to_numpy(dtype=float))
        low, high = (end if math.isfinite(end) else math.nan for end in (interval.low, interval.high))
        groups.append((*key, interval.mean, low, high, interval.n))
    return pd.DataFrame(groups, columns=[*by, "mean", "low", "high", "n"])


def curve(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Columns step, mean, low, high, n of a value over the steps that every run of `rows` has.

    A diverged run has no steps after its last: the curve ends with it, rather than go on with the others.
    """
    by_step = rows.dropna(subset=value).groupby("step")["run"].transform("nunique")
    everywhere = rows.dropna(subset=value)[by_step == rows["run"].nunique()]
    return over_seeds(everywhere, ["step"], value)
