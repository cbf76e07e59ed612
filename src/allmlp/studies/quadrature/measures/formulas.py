"""What is recalculated without a network: integrals, printed numbers, the cost of bounds."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature import bounds, errors, moments, operations
from allmlp.studies.quadrature.frequencies import Rule, angles, normalise_widths, two_phi, wrap
from allmlp.studies.quadrature.integrals import INTEGRALS
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND
from allmlp.studies.quadrature.paper_numbers import checks


@measure(
    recipe=1,
    integral=exact("what is integrated over phi from -pi to pi"),
    where=exact("where the paper prints it"),
    kt_rad=numeric("the angle k t, t = x + y, at which it is taken", rtol=1e-12),
    value_1=numeric("by numerical integration in float64", rtol=1e-9, atol=1e-9),
    closed_form_1=numeric("by hand", rtol=1e-12, atol=1e-15),
    paper_1=numeric("as the paper prints it, with t where it is missing (E003-3)", rtol=1e-12, atol=1e-15),
    difference_1=numeric("value_1 - closed_form_1: the error of the numerical integration", atol=1e-9),
)
def closed_forms(trained: TrainedRun) -> Rows:
    """The integrals of Section 3 and Appendix B, numerically, by hand, and as printed (003-3).

    One row per integral and angle k t = 2 pi t / p, t = 0 .. p - 1; no weights are used.
    """
    p = trained.run.hyperparameters["vocabulary"]
    for integral in INTEGRALS:
        for kt in (2 * np.pi * np.arange(p) / p).tolist():
            value, by_hand = integral.value(kt), integral.closed_form.at(kt)
            yield (integral.name, integral.where, kt, value, by_hand, integral.paper.at(kt), value - by_hand)


@measure(
    recipe=1,
    item=exact("claim or erratum"),
    quantity=exact("what is taken"),
    printed_1=numeric("what the paper prints, or what its text implies; NaN where neither", rtol=1e-12),
    value_1=numeric("worked out again in float64", rtol=1e-6, atol=1e-9),
    how=exact("by what means"),
)
def printed_numbers() -> Rows:
    """Printed numbers and formulas that do not depend on training, recalculated (003-13, errata).

    One row per number; the run's weights are not used.
    """
    return checks()


PRIMES = (31, 59, 113, 227, 401)
NEURONS = (128, 256, 512, 1024, 2048, 4096)
# NumPy's own overhead, some microseconds a call, hides growth below some thousand neurons: two sizes beyond any
# network's, at p = 59 alone, for brute force at all p would need gigabytes there.
LARGE, P_OF_LARGE = (16384, 65536), 59
REPEATS = 9
SEED = 0  # of phases and widths


@measure(
    recipe=1,
    procedure=exact("what is carried out for the neurons of one frequency"),
    p=exact("number of sums x + y; takes part in brute force only"),
    neurons=exact("neurons of the frequency"),
    operations_1=exact("multiplications and comparisons"),
    multiplications_1=exact("of real numbers, with divisions"),
    comparisons_1=exact("of real numbers, with absolute values and the sorting"),
    additions_1=exact("of real numbers"),
    functions_1=exact("cosines, sines and square roots"),
    time_s=timing(f"shortest of {REPEATS} on one core"),
)
def bound_cost() -> Rows:
    """Cost of the paper's bound, of the check by brute force and of the moment bound, in operations and in time
    (003-8).

    One row per procedure, p and number of neurons; phases and widths are random, no weights are used.
    """
    for neurons in (*NEURONS, *LARGE):
        rule = draw(neurons)
        for p in PRIMES if neurons in NEURONS else (P_OF_LARGE,):
            for name in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND):
                count = count_operations(name, p, rule)
                seconds = shortest_seconds(partial(run_procedure, name, p, rule))
                yield (name, p, neurons, count.operations, *count, seconds)


def draw(neurons: int) -> Rule:
    """A rule like those of a trained network: one phase anywhere in each box, psi = 2 phi."""
    rng = np.random.default_rng(SEED)
    width = normalise_widths(rng.uniform(0.5, 1.5, neurons))
    phi = wrap(np.cumsum(width) - width * rng.uniform(size=neurons))
    order = rng.permutation(neurons)
    return two_phi(phi[order], width[order])


def run_procedure(name: str, p: int, rule: Rule) -> float:
    """The procedure itself."""
    if name == BRUTE_FORCE:
        return errors.largest_error("abs", angles(1, p), rule)
    return bounds.total_bound(rule) if name == PAPER_BOUND else moments.moment_bound(rule)


def count_operations(name: str, p: int, rule: Rule) -> operations.Count:
    """The operations of the procedure."""
    neurons = len(rule.phi)
    if name == BRUTE_FORCE:
        return operations.brute_force(p, neurons)
    if name == MOMENT_BOUND:
        return operations.moment_bound(neurons)
    sorting = sum(operations.sort_comparisons(wrap(rule.phi, period).tolist()) for period in (2 * np.pi, np.pi))
    return operations.paper_bound(neurons, sorting)


def shortest_seconds(procedure: Callable[[], float]) -> float:
    """Seconds of the fastest of REPEATS, which other processes disturbed least."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        procedure()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
