"""A key frequency's sum over neurons against the integral that it approximates, by brute force (003-5, 003-7, 003-12).

With theta = k t / 2, t = x + y, and widths w = 2 pi r / sum r, which fill one period:

    sum_i w_i g(cos(theta + phi_i)) exp(i psi_i)  ~  integral over 2 pi of g(cos(theta + phi)) exp(2 i phi)
                                                  =  I exp(-i k t),    I = 4/3 for |.|, 0 for id, 2/3 for ReLU

Real and imaginary part are the paper's two integrals, its G_k and H_k. With psi = -2 phi, as it prints, H would have
the other sign and the network would answer x + y = -z (E003-2). As in its table, widths sum to 2 pi, and |.| and id
come without the factor 1/2 that ReLU(x) = x/2 + |x|/2 gives them. An error is that of the network's own sum: it is
taken with the trained psi_i, not with 2 phi_i.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature.frequencies import Rule, angles

Part = Literal["abs", "identity", "relu"]

PARTS: dict[Part, Callable[[Any], Any]] = {"abs": np.abs, "identity": np.positive, "relu": lambda u: np.maximum(u, 0.0)}
FACTOR: dict[Part, float] = {"abs": 0.5, "identity": 0.5, "relu": 1.0}  # ReLU(u) = |u|/2 + u/2
INTEGRAL: dict[Part, float] = {"abs": 4 / 3, "identity": 0.0, "relu": 2 / 3}

GRID = 2048  # angles over half a period of the absolute part's error: one every 0.0015 rad
# |d error / d theta| <= sum of widths + d/dtheta of (4/3) exp(-2 i theta), since |d |cos|| <= 1
SLOPE = 2 * np.pi + 8 / 3


def relu_part(part: Part, u: Any) -> Any:
    """A part of ReLU(u), for a number or an array."""
    return FACTOR[part] * PARTS[part](u)


def trained_sum(part: Part, theta_T: NDArray, rule: Rule) -> NDArray:
    """The network's own sum at each theta, complex (T,)."""
    cosine_TN = np.cos(np.asarray(theta_T)[:, None] + np.asarray(rule.phi))
    return PARTS[part](cosine_TN) @ (rule.width * np.exp(1j * np.asarray(rule.psi)))


def integral(part: Part, theta_T: NDArray) -> NDArray:
    """The integral that the sum approximates at each theta, complex (T,)."""
    return INTEGRAL[part] * np.exp(-2j * np.asarray(theta_T))


def difference(part: Part, theta_T: NDArray, rule: Rule) -> NDArray:
    """Sum minus integral at each theta, complex (T,). The real part is the integral that Section 4 writes down."""
    return trained_sum(part, theta_T, rule) - integral(part, theta_T)


def largest_error(part: Part, theta_T: NDArray, rule: Rule) -> float:
    """max over theta of |sum - integral|: the worst mixture of the two integrals, so the worst over every output z."""
    return float(np.abs(difference(part, theta_T, rule)).max())


def naive_bound(theta_T: NDArray) -> float:
    """Mean over theta of |integral of |cos(theta + phi)| cos(2 phi)|: the error of a sum that is 0.

    (4/3) (2/pi) = 0.849 over all angles; the paper prints 0.74 (E003-7).
    """
    return float(np.abs(integral("abs", theta_T).real).mean())


def error_at_any_angle(rule: Rule) -> tuple[float, float]:
    """Largest error of the absolute part over a grid of real angles and its kinks, and a ceiling for all angles.

    The error has period pi in theta. The ceiling is the largest on the grid plus the rise of SLOPE over half a step.
    """
    on_grid = largest_error("abs", np.pi * np.arange(GRID) / GRID, rule)
    kinks = np.pi / 2 - np.asarray(rule.phi, dtype=np.float64)
    return max(on_grid, largest_error("abs", kinks, rule)), on_grid + SLOPE * np.pi / GRID / 2


class ProportionalFit(NamedTuple):
    """values = slope wave + rest: the least-squares slope of either sign, and R2 with a slope that is not negative."""

    slope: float
    r2: float


def proportional(values_T: NDArray, wave_T: NDArray) -> ProportionalFit:
    """No intercept, so R2 = 1 - |values - slope wave|^2 / |values|^2, sizes about 0 and not about the mean.

    A negative slope is set to 0 before R2 is taken, which is then 0: the sum has the wrong sign.
    """
    values_T, wave_T = np.asarray(values_T, dtype=np.float64), np.asarray(wave_T, dtype=np.float64)
    slope, size = float(values_T @ wave_T / (wave_T @ wave_T)), float(values_T @ values_T)
    rest = values_T - max(slope, 0.0) * wave_T
    return ProportionalFit(slope, 1 - float(rest @ rest) / size if size > 0 else 0.0)


def proportions(k: int, p: int, rule: Rule) -> tuple[ProportionalFit, ProportionalFit]:
    """G_k on cos(kt) and H_k on -sin(kt), t = 0 .. p - 1."""
    theta_T = angles(k, p)
    sum_T = trained_sum("relu", theta_T, rule)
    return proportional(sum_T.real, np.cos(2 * theta_T)), proportional(sum_T.imag, -np.sin(2 * theta_T))
