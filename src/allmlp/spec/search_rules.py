"""The choice among learning rates that a search has tried, by the quantity that a claim compares.

Each rate has one number per seed, smaller is better, infinite for a diverged run. Where the number has no resolution,
because no run of the search got to 99 %, an earlier milestone of the same curve decides (`decisive_values`). Rates
whose paired difference from the best is not larger than its standard error tie with it. Of neighbouring rates that tie,
the middle one is chosen, and none beside a rate at which a run diverged.

>>> choose({1e-3: [5.0, 5.2, 5.1], 2e-3: [4.0, 4.1, 4.0], 4e-3: [4.1, 4.0, 4.1], 8e-3: [6.0, 6.3, 6.1]}).rate
0.002
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

CRITERIA = {"held_out_nats": "nats per token", "iterations_to_99": "log2 of iterations"}  # name -> unit of its numbers


class Choice(NamedTuple):
    """The chosen rate; is it, or the best one, the lowest or the highest that was tried?"""

    rate: float
    edge: bool


def choose(values: Mapping[float, Sequence[float]]) -> Choice:
    """The rate for these values: rate -> a number per seed, the same seeds in the same order for each.

    An edge: the best or the chosen rate is the lowest or the highest, so that a better one may lie outside. ValueError
    without rates, or with unequal numbers of seeds.
    """
    rates = sorted(values)
    if not rates or len({len(values[rate]) for rate in rates}) != 1:
        raise ValueError(f"a search needs the same seeds at each rate, not {dict(values)}")
    table = np.array([values[rate] for rate in rates], dtype=np.float64)
    best = int(np.argmin(table.mean(axis=1)))
    tied = _tied_rows(table, best)
    beside = [place for place in tied if not _has_diverged_neighbour(table, place)]
    place = beside[(len(beside) - 1) // 2] if beside else _rate_below_tie(table, tied)
    return Choice(rates[place], bool({place, best} & {0, len(rates) - 1}))


def lowest_mean(values: Mapping[float, Sequence[float]]) -> Choice:
    """The rate with the lowest mean, of equal ones the lowest rate: the choice of a search without a criterion."""
    rate = min(values, key=lambda one: (math.fsum(values[one]) / len(values[one]), one))
    return Choice(rate, rate in (min(values), max(values)))


def decisive_values(values: Mapping[float, Sequence[Sequence[float]]]) -> dict[float, list[float]]:
    """rate -> the first of each run's numbers that differs between runs: without a run at 99 %, steps to a lower loss.

    values: rate -> the numbers of each seed's run. A number that is the same for all runs that did not diverge decides
    nothing.
    """
    runs = [run for of_rate in values.values() for run in of_rate]
    for place in range(len(runs[0])):
        if len({run[place] for run in runs if math.isfinite(run[place])}) > 1:
            break
    else:
        place = 0
    return {rate: [run[place] for run in of_rate] for rate, of_rate in values.items()}


def _tied_rows(table: np.ndarray, best: int) -> list[int]:
    """The rows around the best one that tie with it, without a gap. table: (rates, seeds)."""
    first = last = best
    while first > 0 and _is_tied(table[first - 1] - table[best]):
        first -= 1
    while last < len(table) - 1 and _is_tied(table[last + 1] - table[best]):
        last += 1
    return list(range(first, last + 1))


def _is_tied(differences: np.ndarray) -> bool:
    """Is the mean of paired differences at most its standard error? With one seed nothing but equality ties."""
    if not np.isfinite(differences).all():
        return False
    n = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return float(differences.mean()) <= error


def _has_diverged_neighbour(table: np.ndarray, place: int) -> bool:
    return not np.isfinite(table[max(0, place - 1) : place + 2]).all()


def _rate_below_tie(table: np.ndarray, tied: Sequence[int]) -> int:
    """The rate below the tie that is not beside a diverged one; the lowest of the tie where there is none."""
    below = [place for place in range(tied[0]) if not _has_diverged_neighbour(table, place)]
    return below[-1] if below else tied[0]
