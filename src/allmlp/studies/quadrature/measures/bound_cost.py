"""Cost of the paper's bound, of the check by brute force and of the moment bound, in operations and in time (003-8)."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from allmlp.columns import exact, timing
from allmlp.studies.quadrature import bounds, errors, moments, operations
from allmlp.studies.quadrature.frequencies import Rule, angles, normalised, two_phi, wrap
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
    """One row per procedure, p and number of neurons; phases and widths are random, no weights are used."""
    rows = []
    for neurons in (*NEURONS, *LARGE):
        rule = draw(neurons)
        for p in PRIMES if neurons in NEURONS else (P_OF_LARGE,):
            for name in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND):
                count = counted(name, p, rule)
                seconds = shortest(partial(carry_out, name, p, rule))
                rows.append((name, p, neurons, count.operations, *count, seconds))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def draw(neurons: int) -> Rule:
    """A rule like those of a trained network: one phase anywhere in each box, psi = 2 phi."""
    rng = np.random.default_rng(SEED)
    width = normalised(rng.uniform(0.5, 1.5, neurons))
    phi = wrap(np.cumsum(width) - width * rng.uniform(size=neurons))
    order = rng.permutation(neurons)
    return two_phi(phi[order], width[order])


def carry_out(name: str, p: int, rule: Rule) -> float:
    """The procedure itself."""
    if name == BRUTE_FORCE:
        return errors.largest_error("abs", angles(1, p), rule)
    return bounds.total_bound(rule) if name == PAPER_BOUND else moments.moment_bound(rule)


def counted(name: str, p: int, rule: Rule) -> operations.Count:
    """The operations of the procedure."""
    neurons = len(rule.phi)
    if name == BRUTE_FORCE:
        return operations.brute_force(p, neurons)
    if name == MOMENT_BOUND:
        return operations.moment_bound(neurons)
    sorting = sum(operations.sort_comparisons(wrap(rule.phi, period).tolist()) for period in (2 * np.pi, np.pi))
    return operations.paper_bound(neurons, sorting)


def shortest(procedure: Callable[[], float]) -> float:
    """Seconds of the fastest of REPEATS, which other processes disturbed least."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        procedure()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
