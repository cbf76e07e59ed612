"""A weighted sum over neurons as a quadrature rule: phases are its sample points, weights its widths."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature.frequencies import Floats


class Rule(NamedTuple):
    """The neurons of one frequency, (n,) each, in rad. The widths sum to 2 pi."""

    phi: Floats  # phase of OV
    psi: Floats  # phase of W_out
    width: Floats


def two_phi(phi_N: NDArray, width_N: NDArray) -> Rule:
    """The rule with psi = 2 phi, as the integral has it."""
    return Rule(phi_N, 2 * np.asarray(phi_N), width_N)


def normalised(weight_N: NDArray) -> Floats:
    """Widths: weights r scaled to sum to 2 pi. Raises ValueError unless r >= 0 with a positive sum."""
    weight_N = np.asarray(weight_N, dtype=np.float64)
    if not (weight_N >= 0).all() or not weight_N.sum() > 0:
        raise ValueError("widths need weights that are not negative and not all zero")
    return 2 * np.pi * weight_N / weight_N.sum()


def angles(frequency: int, p: int) -> Floats:
    """theta = k t / 2 (rad) of every sum t = 0 .. p - 1.

    t and t + p differ by pi k in theta. This can change the sign of the identity part, but no size of an error.
    """
    return np.pi * frequency * np.arange(p) / p
