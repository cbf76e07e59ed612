"""A network that adds without training (Appendix D.1), in float64, and the condition for no error.

One frequency k, neurons ReLU(cos(kx + phi_i) + cos(ky + phi_i)), outputs w_i cos(kz + 2 phi_i). As the sum
of two cosines is 2 D cos(theta + phi_i), with D = cos(k(x-y)/2) and theta = k(x+y)/2,

    logit(x, y, z) = 2 |D| Re(S exp(i kz)),    S = sum_i w_i ReLU(cos(theta' + phi_i)) exp(2 i phi_i),

theta' = theta, or theta + pi where D < 0. D is never 0, as p is odd; so only the phase of S decides. The integral has
S = (2/3) exp(-2 i theta) exactly. With the error delta = arg(S exp(2 i theta)) the logit is proportional to
cos(k(z - x - y) + delta), and z = x + y is the largest exactly where |delta| < pi / p:

    accuracy is 1  exactly if  |delta| < pi / p at every one of the 2p angles theta' = pi j / p.

So a wobble, max over all theta of |delta|, below pi / p is enough. It is also needed but for the chance that no theta'
comes near a maximum: p of them stand in a period of a regular grid's delta, unless p divides n, so that the largest
|delta| met is within a share of about (pi / p)^2 / 2 of the wobble.

Wobble of n equally spaced angles. ReLU(u) = u/2 + |u|/2; for even n, and odd n > 3, the sum over u/2 is 0 (one of roots
of unity). |cos| has period pi, so even n are n/2 points, each twice. With spacing h = pi/n (n odd) or 2 pi/n (n even)
modulo pi, two geometric series over the points in |u| < pi/2 give

    S exp(2 i theta)  is proportional to  r exp(i e) - exp(3 i e),    r = sin(3h/2) / sin(h/2) = 1 + 2 cos h,

e within h/2 of 0, and |delta| is largest where its derivative is 0: cos 2e = (r + 3/r) / 4.

    >>> round(regular_wobble(5), 6), round(np.pi / regular_wobble(5), 1)
    (0.026503, 118.5)

For small h this is 2 - i (h^2 e - 4 e^3) to third order, so that |delta| is largest at e^2 = h^2 / 12:

    wobble = h^3 / (6 sqrt 3) (1 + O(h^2)):    2.984 / n^3 for odd n, eight times that for even n.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.studies.quadrature.circuits import margin
from allmlp.studies.quadrature.errors import trained_sum
from allmlp.studies.quadrature.frequencies import Floats, Rule, two_phi

FITTED = range(5, 16, 2)  # odd numbers of angles that the law is fitted to (003-own-3)
ROUNDING = 1e-9  # smaller values of a sum of widths of 2 pi, or of a turned angle, count as 0
ELEMENTS = 4_000_000  # of an array that is held at once: 32 MB


class Scores(NamedTuple):
    """Over all pairs: share of right sums, and the right logit minus the largest other one where that is least."""

    accuracy: float
    smallest_margin: float


class PowerLaw(NamedTuple):
    """constant n^exponent."""

    constant: float
    exponent: float


def regular_wobble(n: int) -> float:
    """The wobble of n equally spaced angles of equal widths, by its closed form. n odd from 5, or even from 6."""
    if n < 5:
        raise ValueError(f"n={n}: the closed form holds from 5 angles on")
    h = np.pi / n if n % 2 else 2 * np.pi / n
    r = 1 + 2 * np.cos(h)
    turn = np.arccos((r + 3 / r) / 4)
    return float(abs(turn / 2 + np.angle(r - np.exp(1j * turn))))


def wobble(phi_N: NDArray, width_N: NDArray) -> float:
    """max over all theta of |arg(S exp(2 i theta))| in rad, for any angles and widths; pi where S vanishes. No grid.

    Between two kinks, theta = +-pi/2 - phi_i, the same neurons are active, so S exp(2 i theta) is
    A exp(3 i theta) + B exp(i theta). Its phase rises where, with z = exp(2 i theta),
    3 |A|^2 + |B|^2 + 4 Re(A conj(B) z) > 0, and is stationary where that is 0. So it is monotonic between the
    kinks and those z, and its turn from one to the next is known whole, with whether it passes pi.
    """
    phi_N, width_N = np.asarray(phi_N, dtype=np.float64), np.asarray(width_N, dtype=np.float64)
    kinks = np.sort(np.concatenate([np.pi / 2 - phi_N, -np.pi / 2 - phi_N]) % (2 * np.pi))
    left, right = kinks, np.append(kinks[1:], kinks[0] + 2 * np.pi)
    active = np.cos((left + right)[:, None] / 2 + phi_N) > 0  # (intervals, n)
    A = active @ (width_N * np.exp(3j * phi_N)) / 2
    B = active @ (width_N * np.exp(1j * phi_N)) / 2
    squares, product = 3 * np.abs(A) ** 2 + np.abs(B) ** 2, 4 * A * B.conj()
    half = np.arccos(np.clip(-squares / np.maximum(np.abs(product), 1e-300), -1, 1))  # clipped: a point too many
    middles = (half - np.angle(product)) / 2, (-half - np.angle(product)) / 2
    inside = [left + (theta + turn - left) % (2 * np.pi) for theta in middles for turn in (0, np.pi)]
    theta = np.sort([left, *np.minimum(inside, right), right], axis=0)  # (6, intervals), rising
    S = A * np.exp(3j * theta) + B * np.exp(1j * theta)
    between = (theta[1:] + theta[:-1]) / 2
    rises = squares + (product * np.exp(2j * between)).real
    delta, turned = np.angle(S), np.angle(S[1:] * S[:-1].conj())
    turned -= np.where(turned * np.sign(rises) < -ROUNDING, 2 * np.pi * np.sign(turned), 0.0)  # the long way round
    vanishes = (np.abs(S) < ROUNDING * width_N.sum()).any()
    passes_pi = (np.abs(np.diff(delta, axis=0) - turned) > 1).any()
    return float(np.pi if vanishes or passes_pi else np.abs(delta).max())


@lru_cache(maxsize=512)
def _classes(p: int) -> tuple[Floats, Floats, Floats]:
    """Of the pairs with theta' = pi j / p, j = 0 .. 2p - 1: their number, least and largest 2 |D|. At k = 1."""
    x, y = np.indices((p, p))
    D = 2 * np.cos(np.pi * (x - y) / p)
    j = ((x + y + np.where(D < 0, p, 0)) % (2 * p)).ravel()
    least, largest = np.full(2 * p, np.inf), np.zeros(2 * p)
    np.minimum.at(least, j, np.abs(D).ravel())
    np.maximum.at(largest, j, np.abs(D).ravel())
    return np.bincount(j, minlength=2 * p).astype(float), least, largest


def scores(p: int, phi_N: NDArray, width_N: NDArray) -> Scores:
    """Of the network with one frequency, by its 2p angles: exact, O(p^2), the same for every frequency.

    Another frequency k only permutes the tokens, as k has an inverse modulo p.
    """
    return score_phases(p, two_phi(phi_N, width_N))


def score_phases(p: int, rule: Rule) -> Scores:
    """The same with output phases of its own, in place of 2 phi."""
    count, least, largest = _classes(p)
    S = trained_sum("relu", np.pi * np.arange(2 * p) / p, rule)
    kz = 2 * np.pi * np.arange(p) / p
    logit = np.outer(S.real, np.cos(kz)) - np.outer(S.imag, np.sin(kz))
    found = margin(logit, np.arange(2 * p) % p)
    return Scores(float(count @ (found > 0) / count.sum()), float((found * np.where(found > 0, least, largest)).min()))


def forward_scores(p: int, frequencies: list[int], phi_KN: NDArray, width_KN: NDArray) -> Scores:
    """The same by the whole forward pass over all p^2 pairs, of K frequencies; angles and widths are (K, n)."""
    phi_KN, width_KN = np.atleast_2d(phi_KN), np.atleast_2d(width_KN)
    k = 2 * np.pi * np.asarray(frequencies)[:, None] / p
    table_PKN = np.cos(np.arange(p)[:, None, None] * k + phi_KN)  # what a token adds to each neuron
    out_KN = width_KN * np.exp(2j * phi_KN)
    turn_KP = np.exp(1j * k * np.arange(p))
    rows = max(1, ELEMENTS // (p * max(p, phi_KN.size)))
    right, smallest = 0, np.inf
    for start in range(0, p, rows):
        x = np.arange(start, min(start + rows, p))
        hidden = np.maximum(table_PKN[x][:, None] + table_PKN, 0.0)
        S = np.stack([hidden[:, :, i] @ out_KN[i] for i in range(len(out_KN))], axis=-1).reshape(-1, len(out_KN))
        logit = S.real @ turn_KP.real - S.imag @ turn_KP.imag
        found = margin(logit, ((x[:, None] + np.arange(p)) % p).ravel())
        right, smallest = right + int((found > 0).sum()), min(smallest, float(found.min()))
    return Scores(right / p**2, smallest)


def fitted_law(rows: pd.DataFrame) -> PowerLaw:
    """wobble = constant n^exponent for the FITTED numbers of angles, by least squares through the logarithms.

    rows: of the measure hand_coded_law; each n counts once.
    """
    found = rows[rows["n"].isin(FITTED)].groupby("n")["wobble_rad"].mean()
    exponent, intercept = np.polyfit(np.log(found.index.to_numpy(dtype=float)), np.log(found.to_numpy()), 1)
    return PowerLaw(float(np.exp(intercept)), float(exponent))
