"""Growth exponents of `bound_cost`, for its verdict, figure and table (003-8)."""

import numpy as np
import pandas as pd

AGREED_PRIMES = (31, 59, 113, 227)  # of claim 003-8
TIMED_FROM = 4096  # neurons; below, a call's own few microseconds hide how time grows
P = 59  # the paper's (inferred), at which growth over neurons is shown


def exponent(rows: pd.DataFrame, by: str, value: str) -> float:
    """Slope of log value over log `by` by least squares.

    >>> round(exponent(pd.DataFrame({"p": [2, 4, 8], "time_s": [12.0, 48.0, 192.0]}), "p", "time_s"), 9)
    2.0
    """
    return float(np.polyfit(np.log(rows[by].astype(float)), np.log(rows[value].astype(float)), 1)[0])


def fitted(rows: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """The rows that an exponent is fitted to: of time over neurons only those from TIMED_FROM on."""
    return rows[rows["neurons"] >= TIMED_FROM] if (by, value) == ("neurons", "time_s") else rows


def over_p(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at the most neurons that were taken at every p."""
    primes = rows.groupby("neurons")["p"].nunique()
    return rows[rows["neurons"] == primes[primes == primes.max()].index.max()].sort_values("p")


def over_neurons(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at p = P, over all numbers of neurons."""
    return rows[rows["p"] == P].sort_values("neurons")
