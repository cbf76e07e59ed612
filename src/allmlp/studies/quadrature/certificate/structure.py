"""The structured model of the hidden layer: one periodic function per key frequency, shared by its neurons.

A neuron i of key k, at amplitude amp_i >= 0 and angle phi_i, is modelled as amp_i P_k(x, y; phi_i) with

    P_k(x, y; phi) = Re[(a e^(ikx) + a' e^(iky)) e^(i phi)] + Re[(b e^(2ikx) + b' e^(2iky)) e^(2 i phi)] + g

(2 pi k / p written as k): the primary frequency, its double, the constant. embed(y) makes a' != a and b' != b. Any
finite numbers are valid and taken as exact: a bound holds for all, but its tightness depends on them. They are read off
A and B by least squares with weights e_i = |W's amplitude|.

Angles are rounded to multiples of 2 pi / n, n a multiple of p, and so is phi_i + k y. The discrete Fourier transform
over n angles then gives every |P_k| exactly, without aliasing (see `fourier`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.frequencies import Complexes, Floats, Integers, key_frequencies, read_neurons

ANGLES = 256  # at least so many: rounding moves an angle by at most pi / 256, 0.7 degrees


@dataclass(frozen=True)
class Key:
    """The model of one key frequency's neurons. All numbers count as exact."""

    k: int
    neurons: Integers  # (n,), positions in the hidden layer
    amplitude: Floats  # (n,), not negative
    angle: Integers  # (n,), phi_i = 2 pi angle_i / Structure.angles
    primary: tuple[complex, complex]  # a, a'
    double: tuple[complex, complex]  # b, b'
    constant: float  # g
    offset: Floats  # (n,), the part of the constant that is counted with A; amp g - offset is counted with B


@dataclass(frozen=True)
class Structure:
    """The model of all neurons, and W as waves: v[f] for the keys f, W ~ Re(v_f e^(ifz))."""

    angles: int
    keys: tuple[Key, ...]
    waves_out: dict[int, Complexes]  # f -> (m,)


def angles_for(p: int, at_least: int = ANGLES) -> int:
    """The number of angles: the smallest multiple of p that is at least so many, and at least 8."""
    return p * -(-max(at_least, 8) // p)


@np.errstate(all="ignore")
def fit(network: Network, single_frequency: bool = False, at_least: int = ANGLES) -> Structure:
    """Read the model off a network; `single_frequency`: the paper's, with a = a' and neither b, b' nor g.

    The keys are the frequencies with a hundredth of the weight; each neuron goes to the key that is strongest in its
    A. Never fails: without structure the model is 0, with a poor bound.
    """
    A, B, W, n = network.A_float, network.B_float, network.W_float, angles_for(network.p, at_least)
    try:
        found = key_frequencies(read_neurons(A, W))
    except ValueError:  # no weight at all, or beyond float64
        found = []
    frequencies = found or [1]
    own = np.array(frequencies)[np.abs([wave(A, k) for k in frequencies]).argmax(axis=0)]
    frequencies = sorted(set(own.tolist()))
    out = {k: wave(W, k) for k in frequencies}
    if single_frequency:
        out = {k: np.where(own == k, values, 0) for k, values in out.items()}
    keys = tuple(_key(k, np.flatnonzero(own == k), A, B, out[k], n, single_frequency) for k in frequencies)
    return Structure(n, keys, out)


def wave(values_PM: Floats, k: int) -> Complexes:
    """v with values ~ Re(v e^(2 pi i k x / p)), column by column: the discrete Fourier coefficient at k."""
    p = len(values_PM)
    return _replace_nonfinite(2 / p * np.exp(-2j * np.pi * k * np.arange(p) / p) @ values_PM)


def _key(k: int, neurons: Integers, A: Floats, B: Floats, out: Complexes, angles: int, single: bool) -> Key:
    """The model of one key, by a rank-1 fit of both tokens' waves and linear fits of the rest, weighted by e."""
    A, B, weight = A[:, neurons], B[:, neurons], np.abs(out[neurons])
    first, second = wave(A, k), wave(B, k)
    a, a2 = (1.0 + 0j, 1.0 + 0j) if single else _common_factors(first * weight, second * weight)
    turn = _replace_nonfinite((first * np.conj(a) + second * np.conj(a2)) / (abs(a) ** 2 + abs(a2) ** 2))
    angle = np.rint(np.angle(turn) * angles / (2 * np.pi)).astype(np.int64) % angles
    amplitude, turned = np.abs(turn), np.exp(2j * np.pi * angle / angles)
    mean_A, mean_B = _replace_nonfinite(A.mean(axis=0)), _replace_nonfinite(B.mean(axis=0))

    def shared(values: Complexes, harmonic: int) -> complex:
        basis = weight * amplitude * turned**harmonic
        return complex(_replace_nonfinite(np.vdot(basis, weight * values) / np.vdot(basis, basis).real))

    double = (0j, 0j) if single else (shared(wave(A, 2 * k), 2), shared(wave(B, 2 * k), 2))
    constant = 0.0 if single else shared(mean_A + mean_B + 0j, 0).real
    missed = _replace_nonfinite(mean_A + mean_B - amplitude * constant)  # halved between the two tokens
    return Key(k, neurons, amplitude, angle, (a, a2), double, constant, _replace_nonfinite(mean_A - missed / 2))


def _common_factors(first: Complexes, second: Complexes) -> tuple[complex, complex]:
    """(a, a') of the best fit turn_i (a, a') to both tokens' waves: a leading singular vector. (1, 1) without one."""
    both = np.stack([first, second], axis=1)
    largest = np.abs(both).max(initial=0.0)
    try:
        right = np.linalg.svd(both / largest, full_matrices=False)[2] if largest > 0 else np.ones((1, 2))
    except np.linalg.LinAlgError:
        right = np.ones((1, 2))
    return complex(right[0, 0]), complex(right[0, 1])


def _replace_nonfinite(values: Any) -> Any:
    """The values, with 0 for what is NaN or infinite."""
    return np.where(np.isfinite(values), values, 0)
