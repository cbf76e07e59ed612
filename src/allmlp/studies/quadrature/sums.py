"""The sums over one frequency's neurons: proportional to cos(kt) and sin(kt)? bounded at every angle? (003-7, 003-12)

With the paper's definitions (Section 2), over the neurons of frequency k,

    G_k(t) = sum_i w_i ReLU(cos(kt/2 + phi_i)) cos(psi_i),    H_k(t) = the same with sin(psi_i)

and psi = +2 phi the integrals are (2/3) cos(kt) and -(2/3) sin(kt). psi = -2 phi would give H its other sign and
the network another answer, x + y = -z, so the sign is part of what has to hold (E003-2).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature import errors
from allmlp.studies.quadrature.errors import trained_sum

GRID = 2048  # angles over half a period of the absolute part's error: one every 0.0015 rad
# |d error / d theta| <= sum of widths + d/dtheta of (4/3) exp(-2 i theta), since |d |cos|| <= 1
SLOPE = 2 * np.pi + 8 / 3


class Proportional(NamedTuple):
    """values = slope wave + rest: the least-squares slope of either sign, and R2 with a slope that is not negative."""

    slope: float
    r2: float


def proportional(values_T: NDArray, wave_T: NDArray) -> Proportional:
    """No intercept, so R2 = 1 - |values - slope wave|^2 / |values|^2, sizes about 0 and not about the mean.

    A negative slope is set to 0 before R2 is taken, which is then 0: the sum has the wrong sign.
    """
    values_T, wave_T = np.asarray(values_T, dtype=np.float64), np.asarray(wave_T, dtype=np.float64)
    slope, size = float(values_T @ wave_T / (wave_T @ wave_T)), float(values_T @ values_T)
    rest = values_T - max(slope, 0.0) * wave_T
    return Proportional(slope, 1 - float(rest @ rest) / size if size > 0 else 0.0)


def proportions(k: int, p: int, phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> tuple[Proportional, Proportional]:
    """G_k on cos(kt) and H_k on -sin(kt), t = 0 .. p - 1."""
    theta_T = errors.angles(k, p)
    sum_T = trained_sum("relu", theta_T, phi_N, psi_N, width_N)
    return proportional(sum_T.real, np.cos(2 * theta_T)), proportional(sum_T.imag, -np.sin(2 * theta_T))


def error_at_any_angle(phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> tuple[float, float]:
    """Largest error of the absolute part over a grid of real angles and its kinks, and what no angle exceeds.

    The error has period pi in theta. The second number adds to that of the grid what a slope of at most SLOPE can
    rise between two of its angles.
    """
    grid = np.pi * np.arange(GRID) / GRID
    on_grid = errors.largest_error("abs", grid, phi_N, psi_N, width_N)
    kinks = np.pi / 2 - np.asarray(phi_N, dtype=np.float64)
    largest = max(on_grid, errors.largest_error("abs", kinks, phi_N, psi_N, width_N))
    return largest, on_grid + SLOPE * np.pi / GRID / 2
