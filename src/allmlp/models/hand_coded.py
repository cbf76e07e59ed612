"""A network for modular addition with weights by formula, not trained (003 App. D.1)."""

from collections.abc import Sequence

import numpy as np
import torch

from allmlp.common.errors import parameter_error
from allmlp.models.angles import GRIDS, fill, place
from allmlp.models.constant_attention import ConstantAttention
from allmlp.models.layers import check_choice, check_positive
from allmlp.models.primes import is_odd_prime

RECIPE = 1


class HandCodedAddition(ConstantAttention):
    """Neurons ReLU(cos(kx + phi_j) + cos(ky + phi_j)) with outputs w_j cos(kz + 2 phi_j), n to each frequency k.

    Weights and forward pass are those of `constant-attention`, in float32. Each frequency has three planes of the
    residual stream: W_E writes (cos, sin) into the first, attention carries twice its half into the second, W_in
    reads the second and W_out writes into the third, which W_U reads. So embed(y) reaches no neuron, and the
    residual stream no logit: both add exactly 0. Frequencies are in whole turns per p tokens.

    angles: n per frequency, at the middles of boxes of `widths` (equal by default) that begin around `offset`
    ("regular"), at random points of these boxes ("jittered") or anywhere ("random"); `seed` draws the last two,
    other angles for each frequency. The torch seed has no effect. float32 cannot resolve margins of 1e-6, which matter
    if a wobble is just below its limit; such networks are studied in float64 (studies/quadrature).
    """

    def __init__(
        self,
        vocabulary: int,
        frequencies: Sequence[int] = (1,),
        angles: int = 5,
        grid: str = "regular",
        widths: Sequence[float] | None = None,
        offset: float = 0.0,
        seed: int = 0,
    ) -> None:
        _check(vocabulary, frequencies, angles, grid, offset, seed)
        planes, neurons = 2 * len(frequencies), angles * len(frequencies)
        super().__init__(vocabulary, d_model=3 * planes, n_heads=1, d_mlp=neurons)
        weights = _weights(vocabulary, frequencies, *_sums(len(frequencies), angles, grid, widths, offset, seed))
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.zero_()
                if name in weights:
                    parameter.copy_(torch.from_numpy(weights[name]))


def _sums(
    keys: int, n: int, grid: str, given: Sequence[float] | None, offset: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Angles of every frequency's neurons and their widths, (keys, n) each, in rad."""
    width_N = fill(n, given)
    rngs = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in range(keys)]
    return np.stack([place(width_N, grid, offset, rng) for rng in rngs]), np.tile(width_N, (keys, 1))


def _weights(p: int, frequencies: Sequence[int], phi_KN: np.ndarray, width_KN: np.ndarray) -> dict[str, np.ndarray]:
    """The weights that are not zero, float64; cos(kx + phi) = cos kx cos phi - sin kx sin phi, so with k z."""
    keys, n = phi_KN.shape
    wave_PR = np.stack([f(2 * np.pi * k * np.arange(p) / p) for k in frequencies for f in (np.cos, np.sin)], axis=1)
    own = np.kron(np.eye(keys), np.ones(n))  # the neurons of each frequency, (K, K n)
    into_RM = np.stack([own * np.cos(phi_KN).ravel(), -own * np.sin(phi_KN).ravel()], 1).reshape(2 * keys, -1)
    psi, width = 2 * phi_KN.ravel(), width_KN.ravel()
    out_RM = np.stack([own * width * np.cos(psi), -own * width * np.sin(psi)], 1).reshape(2 * keys, -1)
    first, second, third = np.split(np.eye(6 * keys), 3)  # the planes: (2 K, d_model) each
    return {
        "W_E": wave_PR @ first,
        "W_V": 2 * (first.T @ first)[None],
        "W_O": (first.T @ second)[None],
        "W_in": second.T @ into_RM,
        "W_out": out_RM.T @ third,
        "W_U": third.T @ wave_PR.T,
    }


def _check(p: int, frequencies: Sequence[int], n: int, grid: str, offset: float, seed: int) -> None:
    check_positive(vocabulary=p, angles=n)
    if not is_odd_prime(p):
        raise parameter_error("vocabulary", p, "it must be a prime above 2, for every frequency to add modulo it")
    whole = isinstance(frequencies, Sequence) and all(type(k) is int for k in frequencies)
    if not whole or not frequencies or len(set(frequencies)) < len(frequencies):
        raise parameter_error("frequencies", frequencies, "it must be a list of different whole numbers, at least one")
    if outside := [k for k in frequencies if not 1 <= k <= p // 2]:
        raise parameter_error("frequencies", frequencies, f"{outside[0]} is not between 1 and (p - 1)/2 = {p // 2}")
    check_choice("grid", grid, GRIDS)
    if isinstance(offset, bool) or not isinstance(offset, int | float) or not np.isfinite(offset):
        raise parameter_error("offset", offset, "it must be an angle in rad")
    if type(seed) is not int or seed < 0:
        raise parameter_error("seed", seed, "it must be a whole number, 0 or above")
