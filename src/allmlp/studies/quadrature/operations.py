"""Arithmetic that the two bounds and the check by brute force take, counted exactly (003-8, E003-9).

For the neurons of one frequency, as in `errors.largest_error`, `bounds.total_bound` and `moments.moment_bound` without
their checks of the input. A product of complex numbers is four multiplications and two additions. A division, a
remainder and a halving count as multiplications, an absolute value as a comparison, a cosine, a sine and a square root
as functions. Constants, changes of sign, copies and indices cost nothing.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from allmlp.studies.quadrature.bounds import HALVINGS
from allmlp.studies.quadrature.moments import TERMS

PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND = "the paper's bound", "brute force over p sums", "moment bound"


class Count(NamedTuple):
    """Operations on real numbers."""

    multiplications: int
    comparisons: int
    additions: int
    functions: int

    @property
    def operations(self) -> int:
        """What claim 003-8 counts: multiplications and comparisons."""
        return self.multiplications + self.comparisons


def brute_force(p: int, neurons: int) -> Count:
    """Of `largest_error` at the p angles: a cosine, its size and a complex term per sum and neuron. O(p n)."""
    n = neurons
    return Count(
        multiplications=2 * n + p * (2 * n + 7),
        comparisons=p * n + p - 1,
        additions=p * (3 * n + 1),
        functions=2 * n + p * (n + 3),
    )


def paper_bound(neurons: int, sorting: int) -> Count:
    """Of `total_bound`; `sorting` comparisons for the phases modulo 2 pi and modulo pi together. O(n log n)."""
    n = neurons
    return Count(
        multiplications=12 * n + 2 * HALVINGS + 5,
        comparisons=sorting + (4 * HALVINGS + 13) * n + 2 * HALVINGS - 1,
        additions=(8 * HALVINGS + 26) * n + 2,
        functions=0,
    )


def moment_bound(neurons: int, M: int = TERMS) -> Count:
    """Of `moment_bound` with terms |m| <= M: two complex products per neuron and m. O(M n)."""
    n = neurons
    return Count(
        multiplications=n * (8 * M + 3) + 8 * (2 * M + 1) + 7,
        comparisons=0,
        additions=n * (8 * M + 3) + 2 * M + 5,
        functions=4 * n + 2 * M + 1,
    )


def sort_comparisons(values: Sequence[float]) -> int:
    """Comparisons that a merge sort takes for these values: at most n log2 n, depending on their order.

    >>> sort_comparisons([1.0, 2.0, 3.0, 4.0]), sort_comparisons([4.0, 1.0, 3.0, 2.0])
    (4, 5)
    """
    return _merge_sort(list(values))[1]


def _merge_sort(values: list[float]) -> tuple[list[float], int]:
    """The values in rising order, and the comparisons taken."""
    if len(values) < 2:
        return values, 0
    half = len(values) // 2
    (left, a), (right, b) = _merge_sort(values[:half]), _merge_sort(values[half:])
    first, second, merged = deque(left), deque(right), list[float]()
    while first and second:
        merged.append((first if first[0] <= second[0] else second).popleft())
    return [*merged, *first, *second], a + b + len(merged)


AGREED_PRIMES = (31, 59, 113, 227)  # of claim 003-8
TIMED_FROM = 4096  # neurons; below, a call's own few microseconds hide how time grows
P = 59  # the paper's (inferred), at which growth over neurons is shown


def exponent(rows: pd.DataFrame, by: str, value: str) -> float:
    """Slope of log value over log `by` by least squares.

    >>> round(exponent(pd.DataFrame({"p": [2, 4, 8], "time_s": [12.0, 48.0, 192.0]}), "p", "time_s"), 9)
    2.0
    """
    return float(np.polyfit(np.log(rows[by].astype(float)), np.log(rows[value].astype(float)), 1)[0])


def fitted_rows(rows: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """The rows that an exponent is fitted to: of time over neurons only those from TIMED_FROM on."""
    return rows[rows["neurons"] >= TIMED_FROM] if (by, value) == ("neurons", "time_s") else rows


def rows_over_p(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at the most neurons that were taken at every p."""
    primes = rows.groupby("neurons")["p"].nunique()
    return rows[rows["neurons"] == primes[primes == primes.max()].index.max()].sort_values("p", kind="stable")


def rows_over_neurons(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at p = P, over all numbers of neurons."""
    return rows[rows["p"] == P].sort_values("neurons", kind="stable")
