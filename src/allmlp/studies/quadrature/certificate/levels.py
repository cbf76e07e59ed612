"""The certificate of a network, level by level: bounds on all p^2 margins, their cost, and what they certify.

truth        every x, y and z tried in ball arithmetic
hidden       the hidden layer exactly, the unembedding compressed
structured   primary frequency, its double, the constant and embed(y) per key; `terms` Fourier terms of the
             sum over neurons (the last row: all of them, which leaves the model's error alone)
story        one frequency per neuron in and out, and the integral in the sum's place
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from allmlp.studies.quadrature.certificate import operations
from allmlp.studies.quadrature.certificate.fourier import kept_terms, profiles
from allmlp.studies.quadrature.certificate.intervals import PRECISION
from allmlp.studies.quadrature.certificate.margins import (
    factors,
    hidden_bounds,
    story_bounds,
    structured_bounds,
    true_margins,
)
from allmlp.studies.quadrature.certificate.network import Network, network
from allmlp.studies.quadrature.certificate.residual import residual
from allmlp.studies.quadrature.certificate.structure import ANGLES, fit
from allmlp.studies.quadrature.frequencies import Floats

TERMS = (1, 5, 17, 41, 81)


@dataclass(frozen=True)
class Level:
    """Bounds of one level."""

    name: str
    terms: int  # Fourier terms kept, 0 where the level has none
    lower: Floats  # (p, p), nats, -inf where there is no bound
    operations: int
    seconds: float  # of this level alone, without reading the model off; tables of the network count where first used

    @property
    def certified_share(self) -> float:
        """Share of pairs proved to be added right."""
        return float((self.lower > 0).mean())


@dataclass(frozen=True)
class Certificate:
    """All levels of a network, `truth` first."""

    levels: tuple[Level, ...]
    upper: Floats  # (p, p), nats: upper ends of the true margins
    sizes: dict[str, int]  # p, d, h, k, m
    keys: tuple[int, ...]  # key frequencies of the structured model


@flint.ctx.workprec(PRECISION)
def certify(
    weights: Mapping[str, Floats], source: str = "weights", terms: Sequence[int] = TERMS, angles: int = ANGLES
) -> Certificate:
    """The certificate of weights named and shaped as in `circuits.LAYOUT`; `angles`: at least so many.

    Raises UserError, naming `source`, where `network.check` does.
    """
    net = network(weights, source)
    sizes = net.sizes
    (low, high), seconds = _time_work(lambda: true_margins(net))
    found = [Level("truth", 0, _replace_nan(low), operations.count_brute_force(sizes), seconds)]

    (rank, low), seconds = _time_work(lambda: _bound_hidden(net))
    found.append(Level("hidden", 0, _replace_nan(low), operations.count_hidden(sizes, rank), seconds))

    model = fit(net, at_least=angles)
    (left, of_keys), shared = _time_work(lambda: (residual(net, model), profiles(net, model)))
    for count in (*terms, model.angles // 2 + 1):
        kept = kept_terms(count, model.angles)
        low, seconds = _time_work(lambda kept=kept: structured_bounds(net, of_keys, left, kept))  # type: ignore[misc]
        cost = operations.count_structured(sizes, len(model.keys), model.angles, len(kept))
        found.append(Level("structured", len(kept), _replace_nan(low), cost, shared + seconds))

    single = fit(net, single_frequency=True, at_least=angles)
    low, seconds = _time_work(lambda: story_bounds(net, profiles(net, single), residual(net, single)))
    cost = operations.count_structured(sizes, len(single.keys), single.angles, 1)
    found.append(Level("story", 1, _replace_nan(low), cost, seconds))
    upper = np.where(np.isnan(high), np.inf, high)
    return Certificate(tuple(found), upper, sizes, tuple(key.k for key in model.keys))


def _bound_hidden(net: Network) -> tuple[int, Floats]:
    F, G = factors(net)
    return len(G), hidden_bounds(net, F, G)


def _time_work(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    with np.errstate(all="ignore"):  # what overflows float64 becomes a bound of -inf, see _claimed
        return work(), time.perf_counter() - began


def _replace_nan(lower: Floats) -> Floats:
    """Bounds with -inf for NaN: arithmetic that overflowed claims nothing."""
    return np.where(np.isnan(lower), -np.inf, lower)
