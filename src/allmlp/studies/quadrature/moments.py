"""A bound on a key frequency's error from the Fourier moments of its phases: no input, no p, every real angle.

With nu_m = sum_i w_i exp(i (psi_i + 2 m phi_i)), and |cos u| = sum_m H_m exp(2 i m u), m over all integers,

    H_m = (1/pi) integral over |u| < pi/2 of cos u cos 2mu du = (2/pi) (-1)^m / (1 - 4 m^2),

the error of the absolute part (`errors.largest_error`) is, at every real theta and for any phases,

    E(theta) = sum_i w_i |cos(theta + phi_i)| exp(i psi_i) - (4/3) exp(-2 i theta) = sum_m a_m exp(2 i m theta),
    a_m = H_m nu_m - (4/3 where m = -1)

(sum |H_m| converges, so sums may be exchanged; H_-1 2 pi = 4/3, so that psi = 2 phi leaves a_-1 = 0). Hence

    |E(theta)| <= sum over |m| <= M of |a_m| + tail,
    tail = sum w sum over |m| > M of |H_m| = sum w (2/pi) sum over m > M of (1/(2m-1) - 1/(2m+1))
         = sum w (2/pi) / (2M+1)                               (telescoping; 4 / (2M+1) for widths that sum to 2 pi)

as |nu_m| <= sum w. psi enters as it is, so no angle term is added. Costs O(M n) for n neurons.

Sharper (`peak_bound`): P, the part |m| <= M, is a trigonometric polynomial of degree M in x = 2 theta. At N > 2M
equally spaced x, max over all x of |P| <= max over the grid / cos(pi M / N) (Ehlich & Zeller 1964): turn P so that
its maximum, at x*, is real and positive; then Re P(x) >= max|P| cos(M (x - x*)) for |x - x*| <= pi/M (M. Riesz
1914), and some x of the grid is within pi/N of x*. O(M n + N log N).

Rounding. Phases and widths are taken as the float64 numbers that they are; u = 2^-53; NumPy's cosine and sine are
taken to be within 4 units in the last place, so exp(2 i phi) (2 phi is exact) within 12 u. A product of complex
numbers adds at most sqrt(8) u, so nu_m, |m| powers and a sum of n terms, is off by less than
sum w u (16 (|m| + 1) + n). As sum w sum |H_m| <= 8, all a_m together are off by u (130 (M + 1) + 9 n); H_m, the
4/3, moduli, tail and the sums (of at most 12) add less than u (20 M + 250 + 2 n). `rounding` is above all of it.
The FFT of `peak_bound` has a relative error (2-norm) of at most 8 u log2 N (Higham 2002, Theorem 24.2), so 80 u
sqrt(N) log2 N in each value, as the 2-norm of a is at most 10. Both are added: rounding puts no bound below the
true error.
"""

import math

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature.errors import INTEGRAL
from allmlp.studies.quadrature.frequencies import Complexes, Floats, Rule

UNIT = 2.0**-53

# M. On 128 neurons with one phase anywhere in each box (a quarter of the paper's width: its four keys), twice as
# many terms lower the bound by less than a tenth (0.051 to 0.046), half as many raise it by a sixth (0.060).
TERMS = 200
OVERSAMPLING = 32  # N over M at least: between grid points |P| is at most 1 / cos(pi / 32) = 1.005 times higher


def coefficient(m: NDArray) -> Floats:
    """H_m of |cos u| = sum_m H_m exp(2 i m u), for integers m of either sign."""
    m = np.asarray(m)
    return 2 / np.pi * np.where(m % 2, -1.0, 1.0) / (1.0 - 4.0 * m.astype(np.float64) ** 2)


def tail(M: int = TERMS, total_width: float = 2 * np.pi) -> float:
    """A bound on the terms |m| > M, whatever the phases."""
    return float(total_width * 2 / np.pi / (2 * M + 1))


def terms(rule: Rule, M: int = TERMS) -> Complexes:
    """a_m for m = -M .. M, (2M + 1,): the Fourier coefficients of the error.

    Raises ValueError unless the rule's numbers are finite, its widths are not negative and sum to 2 pi, and M is at
    least 1.
    """
    phi_N, psi_N, width_N = _check_rule(rule, M)
    nu = np.empty(2 * M + 1, dtype=np.complex128)
    turn_N = np.exp(2j * phi_N)
    back_N = turn_N.conj()
    plus_N = width_N * np.exp(1j * psi_N)
    minus_N = plus_N.copy()
    nu[M] = plus_N.sum()
    for m in range(1, M + 1):
        plus_N *= turn_N
        minus_N *= back_N
        nu[M + m], nu[M - m] = plus_N.sum(), minus_N.sum()
    a = coefficient(np.arange(-M, M + 1)) * nu
    a[M - 1] -= INTEGRAL["abs"]
    return a


def moment_bound(rule: Rule, M: int = TERMS) -> float:
    """sum over |m| <= M of |a_m|, plus tail: never below |E(theta)| at any real theta. Errors as in `terms`."""
    return float(np.abs(terms(rule, M)).sum()) + _allowance(rule, M)


def peak_bound(rule: Rule, M: int = TERMS) -> float:
    """max over theta of |sum over |m| <= M of a_m exp(2 i m theta)|, plus tail. Never above `moment_bound`."""
    return largest_sum(terms(rule, M)) + _allowance(rule, M)


def largest_sum(a: Complexes) -> float:
    """At least max over x of |sum over |m| <= M of a_m exp(i m x)|, at most 1.005 times it; a: (2M + 1,)."""
    M = len(a) // 2
    N = 1 << (OVERSAMPLING * M - 1).bit_length()
    on_grid = float(np.abs(np.fft.fft(a, N)).max())  # begins at m = -M, which turns each value and alters no modulus
    on_grid += 80 * UNIT * math.sqrt(N) * math.log2(N)
    return min(on_grid / math.cos(math.pi * M / N), float(np.abs(a).sum()))


def rounding(M: int, neurons: int) -> float:
    """A bound on the rounding error of a bound with the terms |m| <= M of that many neurons."""
    return UNIT * (160 * (M + 4) + 12 * neurons)


def _allowance(rule: Rule, M: int) -> float:
    """Tail and rounding."""
    return tail(M, float(np.sum(rule.width))) + rounding(M, np.size(rule.width))


def _check_rule(rule: Rule, M: int) -> Rule:
    """The rule in float64."""
    if int(M) != M or M < 1:
        raise ValueError(f"a moment bound needs the terms up to M = 1 at least, not M = {M}")
    phi_N, psi_N, width_N = (np.asarray(values, dtype=np.float64) for values in rule)
    if not phi_N.shape == psi_N.shape == width_N.shape or phi_N.ndim != 1:
        raise ValueError(f"one psi and one width per phi, not shapes {phi_N.shape}, {psi_N.shape}, {width_N.shape}")
    if not (np.isfinite(phi_N).all() and np.isfinite(psi_N).all()):
        raise ValueError("phases must be finite")
    if not (width_N >= 0).all() or not np.isclose(width_N.sum(), 2 * np.pi, rtol=1e-9, atol=0):
        raise ValueError(f"widths must not be negative and must sum to 2 pi, not {width_N.sum():g}")
    return Rule(phi_N, psi_N, width_N)
