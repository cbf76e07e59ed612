"""A key frequency's sum over neurons against the integral it stands for, by brute force (003-5, 003-12).

With theta = k t / 2, t = x + y, and widths w = 2 pi r / sum r, which fill one period:

    sum_i w_i g(cos(theta + phi_i)) exp(i psi_i)  ~  integral over 2 pi of g(cos(theta + phi)) exp(2 i phi)
                                                  =  I exp(-i k t),    I = 4/3 for |.|, 0 for id, 2/3 for ReLU

Real and imaginary part are the paper's two integrals (its G_k and H_k). As in its table, widths sum to 2 pi
and |.| and id come without the factor 1/2 that ReLU(x) = x/2 + |x|/2 gives them. An error is taken with
the trained psi_i, not with 2 phi_i: it is that of the network's own sum.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Part = Literal["abs", "identity", "relu"]

PARTS: dict[Part, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "identity": np.positive,
    "relu": lambda u: np.maximum(u, 0.0),
}
INTEGRAL: dict[Part, float] = {"abs": 4 / 3, "identity": 0.0, "relu": 2 / 3}


def normalised(weight_N: NDArray) -> Floats:
    """Widths: weights r scaled to sum to 2 pi. Raises ValueError unless r >= 0 with a positive sum."""
    weight_N = np.asarray(weight_N, dtype=np.float64)
    if not (weight_N >= 0).all() or not weight_N.sum() > 0:
        raise ValueError("widths need weights that are not negative and not all zero")
    return 2 * np.pi * weight_N / weight_N.sum()


def angles(frequency: int, p: int) -> Floats:
    """theta = k t / 2 (rad) of every sum t = 0 .. p - 1.

    t and t + p differ by pi k in theta: that can turn the sign of the identity part, no size of any error.
    """
    return np.pi * frequency * np.arange(p) / p


def trained_sum(part: Part, theta_T: NDArray, phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> NDArray:
    """The network's own sum at each theta, complex (T,)."""
    cosine_TN = np.cos(np.asarray(theta_T)[:, None] + np.asarray(phi_N))
    return PARTS[part](cosine_TN) @ (width_N * np.exp(1j * np.asarray(psi_N)))


def integral(part: Part, theta_T: NDArray) -> NDArray:
    """The integral that the sum stands for at each theta, complex (T,)."""
    return INTEGRAL[part] * np.exp(-2j * np.asarray(theta_T))


def largest_error(part: Part, theta_T: NDArray, phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> float:
    """max over theta of |sum - integral| as complex numbers: the worst mixture of the two integrals, so the
    worst over every output z as well."""
    return float(np.abs(_error(part, theta_T, phi_N, psi_N, width_N)).max())


def largest_cosine_error(part: Part, theta_T: NDArray, phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> float:
    """The same of the cosine integral alone, the one that Section 4 writes down; at most `largest_error`."""
    return float(np.abs(_error(part, theta_T, phi_N, psi_N, width_N).real).max())


def naive_bound(theta_T: NDArray) -> float:
    """Mean over theta of |integral of |cos(theta + phi)| cos(2 phi)|: what a sum of nothing would miss.

    (4/3) (2/pi) = 0.849 over all angles; the paper prints 0.74 (E003-7).
    """
    return float(np.abs(integral("abs", theta_T).real).mean())


def _error(part: Part, theta_T: NDArray, phi_N: NDArray, psi_N: NDArray, width_N: NDArray) -> NDArray:
    return trained_sum(part, theta_T, phi_N, psi_N, width_N) - integral(part, theta_T)
