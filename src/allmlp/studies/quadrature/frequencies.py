"""Each neuron's frequency, phases, amplitudes and weight, by Fourier transform over tokens (003-1, 003-2).

The weighted sum over a frequency's neurons is a quadrature rule: phases are sample points, weights widths (`Rule`).

The paper's form (Section 2), with 2 pi k / p written as k:

    OV(x)_i  = c_i cos(k_i x + phi_i)        W_out(z)_i = e_i cos(k_i z + psi_i)        r_i = 2 c_i e_i

k_i is the frequency with the most variance of OV over x; psi_i and e_i are read at that same k_i. Amplitudes
are non-negative, so r_i = |d_i| e_i as in Section 2 (E003-5). With these signs a network that adds needs
psi = +2 phi (E003-2).

    >>> x = np.arange(7)[:, None]
    >>> one = read_neurons(np.cos(2 * np.pi * 3 * x / 7 + 0.5), np.cos(2 * np.pi * 3 * x / 7 + 1.0))
    >>> int(one.frequency[0]), round(float(one.phi[0]), 6), round(float(one.psi[0]), 6)
    (3, 0.5, 1.0)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Complexes = NDArray[np.complex128]

# A frequency with a smaller share of the weight is negligible. An even spread over all frequencies of p = 59 would give
# each 0.034, so every frequency that training prefers is included.
KEY_SHARE = 0.01
FADING_SHARE = 0.05  # a key frequency below it is fading out: no mean over keys of errors or bounds counts it


@dataclass(frozen=True)
class Fourier:
    """Real Fourier series of columns (p, m), each field (p // 2, m): row k - 1 is frequency k."""

    amplitude: Floats
    phase: Floats  # rad
    share: Floats  # of the column's variance; 0 where it has none


@dataclass(frozen=True)
class Neurons:
    """Numbers of m neurons, each field (m,)."""

    frequency: Integers  # k with the most variance of OV
    frequency_out: Integers  # k with the most variance of W_out
    share_in: Floats  # of the variance of OV, at `frequency`
    share_out: Floats  # of the variance of W_out, at `frequency_out`
    phi: Floats  # rad, of OV at `frequency`
    psi: Floats  # rad, of W_out at `frequency`
    amplitude_in: Floats  # c
    amplitude_out: Floats  # e, at `frequency`

    @property
    def weight(self) -> Floats:
        """r = 2 c e: a neuron's weight in the sum of its frequency, before normalisation."""
        return 2 * self.amplitude_in * self.amplitude_out


def wrap(angle: NDArray, period: float = 2 * np.pi) -> Floats:
    """The same angle within half a period of 0."""
    return (np.asarray(angle, dtype=np.float64) + period / 2) % period - period / 2


def fourier(values_PM: NDArray) -> Fourier:
    """f(t) = mean + sum_k amplitude cos(2 pi k t / p + phase), column by column.

    Raises ValueError unless values are finite and (p, m) with p at least 3: below there is no frequency.
    """
    values_PM = np.asarray(values_PM, dtype=np.float64)
    if values_PM.ndim != 2 or len(values_PM) < 3 or not np.isfinite(values_PM).all():
        raise ValueError(f"needs finite values (p, neurons) with p >= 3, not shape {values_PM.shape}")
    p = len(values_PM)
    X_KM = np.fft.rfft(values_PM, axis=0)[1:]
    sides = np.where(2 * np.arange(1, len(X_KM) + 1) == p, 1, 2)[:, None]  # k = p/2 is its own mirror image
    energy_KM = sides * np.abs(X_KM) ** 2
    total_M = energy_KM.sum(axis=0)
    share_KM = np.divide(energy_KM, total_M, out=np.zeros_like(energy_KM), where=total_M > 0)
    return Fourier(sides * np.abs(X_KM) / p, np.angle(X_KM), share_KM)


def read_neurons(ov_PM: NDArray, output_PM: NDArray) -> Neurons:
    """The numbers of every neuron from OV[x, i] and W_out[z, i], both (p, m). ValueError if shapes differ."""
    if np.shape(ov_PM) != np.shape(output_PM):
        raise ValueError(f"OV {np.shape(ov_PM)} and W_out {np.shape(output_PM)} must have one shape (p, m)")
    into, out = fourier(ov_PM), fourier(output_PM)
    own, neuron = into.share.argmax(axis=0), np.arange(np.shape(ov_PM)[1])
    return Neurons(
        frequency=own + 1,
        frequency_out=out.share.argmax(axis=0) + 1,
        share_in=into.share.max(axis=0),
        share_out=out.share.max(axis=0),
        phi=into.phase[own, neuron],
        psi=out.phase[own, neuron],
        amplitude_in=into.amplitude[own, neuron],
        amplitude_out=out.amplitude[own, neuron],
    )


def weight_shares(neurons: Neurons) -> dict[int, float]:
    """frequency -> its neurons' share of the sum of all weights r, in the order of frequencies.

    Raises ValueError for a network without any weight.
    """
    total = neurons.weight.sum()
    if not total > 0:
        raise ValueError("no neuron has any weight: there is no sum to read as an integral")
    return {int(k): float(neurons.weight[neurons.frequency == k].sum() / total) for k in np.unique(neurons.frequency)}


def key_frequencies(neurons: Neurons, at_least: float = KEY_SHARE) -> list[int]:
    """Frequencies whose neurons carry `at_least` that share of the weight (the paper's 12, 18, 21, 22)."""
    return [k for k, share in weight_shares(neurons).items() if share >= at_least]


class Rule(NamedTuple):
    """The neurons of one frequency, (n,) each, in rad. The widths sum to 2 pi."""

    phi: Floats  # phase of OV
    psi: Floats  # phase of W_out
    width: Floats


def two_phi(phi_N: NDArray, width_N: NDArray) -> Rule:
    """The rule with psi = 2 phi, as the integral has it."""
    return Rule(phi_N, 2 * np.asarray(phi_N), width_N)


def normalise_widths(weight_N: NDArray) -> Floats:
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
