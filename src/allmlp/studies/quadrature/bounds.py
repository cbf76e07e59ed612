"""The paper's bound on a quadrature error from phases and widths alone, without any input (003-5, 003-6).

Rectangles of widths w_i, in the order of their phases phi_i, are laid end to end over one period. Each
misses its part of the integral of f by at most sup|f'| times the area under |x - phi_i|, and
sup|f'| = 2 for f(phi) = |cos(theta + phi)| cos(2 phi), whatever theta (exp(2 i phi) for cos(2 phi) too):

    box      2 sum_i integral over box i of |x - phi_i| dx, boxes shifted to where that is least
    folded   the same on half the period, twice: f has period pi, which halves the boxes
    angle    sum_i w_i |psi_i - 2 phi_i|, for the trained psi instead of 2 phi
    total    min(box, folded) + angle >= |sum_i w_i |cos(theta + phi_i)| exp(i psi_i) - (4/3) exp(-2 i theta)|

n equal boxes at equal phases give 2 pi^2 / n, folded pi^2 / n (n odd). Costs O(n log n) for n neurons.

    >>> from allmlp.studies.quadrature.frequencies import two_phi
    >>> five = two_phi(2 * np.pi * np.arange(5) / 5, np.full(5, 2 * np.pi / 5))
    >>> round(box_bound(five) / np.pi**2, 6), round(folded_bound(five) / np.pi**2, 6)
    (0.4, 0.2)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature.frequencies import Floats, Integers, Rule, wrap

SLOPE = 2.0  # sup |d/dphi |cos(theta + phi)| cos(2 phi)|, attained
HALVINGS = 64  # of the interval that holds the best shift: down to one unit in the last place


@dataclass(frozen=True)
class Boxes:
    """Boxes end to end over one period: edges (n + 1,), and of each box its phase and its neuron, (n,)."""

    edges: Floats  # rad, after the best shift
    phases: Floats  # rad, rising
    neurons: Integers  # positions in the arrays that `lay` was given

    @property
    def distance(self) -> float:
        """sum_i integral over box i of |x - phase_i| dx, rad^2. The integral of |x| is x|x| / 2."""
        low_N, high_N = self.edges[:-1] - self.phases, self.edges[1:] - self.phases
        return float(((high_N * np.abs(high_N) - low_N * np.abs(low_N)) / 2).sum())


def lay(phi_N: NDArray, width_N: NDArray, period: float = 2 * np.pi) -> Boxes:
    """Boxes of widths `width_N` in the order of their phases, shifted so that `distance` is least.

    phi_N, width_N: (n,) in rad; phases are taken modulo `period`. Raises ValueError unless widths are
    non-negative and fill the period.
    """
    phi_N, width_N = np.asarray(phi_N, dtype=np.float64), np.asarray(width_N, dtype=np.float64)
    if phi_N.shape != width_N.shape or phi_N.ndim != 1:
        raise ValueError(f"one width per phase, not shapes {phi_N.shape} and {width_N.shape}")
    if not (width_N >= 0).all() or not np.isclose(width_N.sum(), period, rtol=1e-9):
        raise ValueError(f"widths must fill the period of {period:g} rad, not sum to {width_N.sum():g}")
    wrapped = wrap(phi_N, period)
    order = np.argsort(wrapped, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(width_N[order])]) - period / 2
    shift = best_shift(edges[:-1] - wrapped[order], edges[1:] - wrapped[order])
    return Boxes(edges + shift, wrapped[order], order)


def best_shift(left_N: NDArray, right_N: NDArray) -> float:
    """The s that makes g(s) = sum_i integral from left_i + s to right_i + s of |x| dx least.

    g is convex with g'(s) = sum(|right + s| - |left + s|), so bisecting on the sign of g' finds the optimum.
    """
    reach = float(max(np.abs(left_N).max(), np.abs(right_N).max()))
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (np.abs(right_N + middle) - np.abs(left_N + middle)).sum() > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def box_bound(rule: Rule) -> float:
    """Bound over the whole period of 2 pi. Widths sum to 2 pi; errors as in `lay`."""
    return SLOPE * lay(rule.phi, rule.width).distance


def folded_bound(rule: Rule) -> float:
    """Bound with the two halves of the circle overlapped: phases modulo pi, widths halved, counted twice.

    Holds for the absolute part, which has period pi; the identity part has not.
    """
    return 2 * SLOPE * lay(rule.phi, np.asarray(rule.width) / 2, period=np.pi).distance


def angle_bound(rule: Rule) -> float:
    """A bound on the change of the sum by psi_i instead of 2 phi_i, differences modulo 2 pi (E003-9)."""
    phi, psi, width = map(np.asarray, rule)
    return float((width * np.abs(wrap(psi - 2 * phi))).sum())


def total_bound(rule: Rule) -> float:
    """The better of the two box bounds, plus the angle bound: the third row of the paper's table."""
    return min(box_bound(rule), folded_bound(rule)) + angle_bound(rule)
