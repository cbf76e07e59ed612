"""What the paper's bound, the check by brute force and the moment bound cost, in operations and in time (003-8)."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.columns import exact, timing
from allmlp.studies.quadrature import bounds, errors, moments, operations
from allmlp.studies.quadrature.frequencies import wrap
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND

RECIPE = 1

PRIMES = (31, 59, 113, 227, 401)
NEURONS = (128, 256, 512, 1024, 2048, 4096)
# NumPy's own overhead, some microseconds a call, hides growth below some thousand neurons: two sizes beyond any
# network's, at p = 59 alone, for brute force at all p would need gigabytes there.
LARGE, P_OF_LARGE = (16384, 65536), 59
REPEATS = 9
SEED = 0  # of phases and widths

COLUMNS = {
    "procedure": exact("what is carried out for the neurons of one frequency"),
    "p": exact("number of sums x + y; takes part in brute force only"),
    "neurons": exact("neurons of the frequency"),
    "operations_1": exact("multiplications and comparisons"),
    "multiplications_1": exact("of real numbers, with divisions"),
    "comparisons_1": exact("of real numbers, with absolute values and the sorting"),
    "additions_1": exact("of real numbers"),
    "functions_1": exact("cosines, sines and square roots"),
    "time_s": timing(f"shortest of {REPEATS} on one core"),
}


def measure() -> pd.DataFrame:
    """One row per procedure, p and number of neurons; phases and widths are drawn, no weight takes part."""
    rows = []
    for neurons in (*NEURONS, *LARGE):
        rule = draw(neurons)
        for p in PRIMES if neurons in NEURONS else (P_OF_LARGE,):
            rows += [
                (name, p, neurons, *counted(name, p, rule), shortest(partial(carry_out, name, p, rule)))
                for name in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND)
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


Rule = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def draw(neurons: int) -> Rule:
    """phi, psi = 2 phi and widths, (n,) each, like those of a trained network: one phase anywhere in each box."""
    rng = np.random.default_rng(SEED)
    width = errors.normalised(rng.uniform(0.5, 1.5, neurons))
    phi = wrap(np.cumsum(width) - width * rng.uniform(size=neurons))
    order = rng.permutation(neurons)
    return phi[order], 2 * phi[order], width[order]


def carry_out(name: str, p: int, rule: Rule) -> float:
    """The procedure itself."""
    if name == BRUTE_FORCE:
        return errors.largest_error("abs", errors.angles(1, p), *rule)
    return bounds.total_bound(*rule) if name == PAPER_BOUND else moments.moment_bound(*rule)


def counted(name: str, p: int, rule: Rule) -> tuple[int, ...]:
    """Operations, and of them multiplications and comparisons; additions and functions."""
    phi, neurons = rule[0], len(rule[0])
    if name == BRUTE_FORCE:
        count = operations.brute_force(p, neurons)
    elif name == MOMENT_BOUND:
        count = operations.moment_bound(neurons)
    else:
        sorting = sum(operations.sort_comparisons(wrap(phi, period).tolist()) for period in (2 * np.pi, np.pi))
        count = operations.paper_bound(neurons, sorting)
    return count.operations, count.multiplications, count.comparisons, count.additions, count.functions


def shortest(procedure: Callable[[], float]) -> float:
    """Seconds of the quickest of REPEATS: the one that other processes disturbed least."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        procedure()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
