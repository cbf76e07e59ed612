"""The identity part of ReLU in the logits, as 2-D Fourier series over outputs z and inputs x (003-11).

u/2 of every neuron passes W_out unbent, so it is a sum of matrices of one token each (Appendix B; constants left out):

    identity(x, y, z) = id1[z, x] + id1[z, y] + id2[z, y],      id1 = W_out OV / 2,   id2 = W_out embed / 2

    id1[z, x] = sum over u, v of a[u, v] exp(i (u z + v x) 2 pi / p),   a = fft2(id1) / p^2,   a[-u, -v] = conj a[u, v]

The paper finds a[k, -2k] alone, and real: id1 = 2 Re sum_k a_k exp(i(kz - 2kx)), which is its D_k cos(kz - 2kx) +
E_k sin(kz - 2kx) with D_k = 2 Re a_k, E_k = -2 Im a_k. As cos A + cos B = 2 cos((A - B)/2) cos((A + B)/2),

    D_k (cos(kz - 2kx) + cos(kz - 2ky)) = 2 D_k cos(k(x - y)) cos(k(z - x - y)),

so the coefficient of cos(k(x - y)) cos(k(x + y - z)) in the logits is 2 D_k of id1 and once that of id2, 2 D_k + D'_k.
The paper loses the 2 and calls both D_k (E003-6).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import Complexes, Floats, wrap

MATRICES = ("OV", "embed(y)")


def identity_matrices(w: circuits.Weights) -> dict[str, Floats]:
    """id1 and id2 [z, token], (p, p) each, by MATRICES."""
    out_ZM = circuits.output(w)
    return dict(zip(MATRICES, (out_ZM @ table(w).T / 2 for table in (circuits.ov, circuits.embed)), strict=True))


def spectrum(matrix_ZX: NDArray) -> Complexes:
    """a[u, v], (p, p). Raises ValueError unless the matrix is square, finite and of an odd size."""
    matrix_ZX = np.asarray(matrix_ZX, dtype=np.float64)
    p = len(matrix_ZX)
    if matrix_ZX.shape != (p, p) or p % 2 == 0 or not np.isfinite(matrix_ZX).all():
        raise ValueError(f"needs a finite matrix (p, p) with p odd, not shape {matrix_ZX.shape}")
    return np.fft.fft2(matrix_ZX) / p**2


def key_coefficients(a_UV: NDArray, keys: Sequence[int]) -> Complexes:
    """a_k = a[k, -2k], (keys,)."""
    k = np.asarray(keys, dtype=np.int64)
    return np.asarray(a_UV)[k, -2 * k % len(a_UV)]


def energy_share(a_UV: NDArray, keys: Sequence[int]) -> float:
    """Share of the energy, sum |a|^2 without the mean a[0, 0], at (k, -2k) of the keys and their mirror images."""
    return _share(2 * (np.abs(key_coefficients(a_UV, keys)) ** 2).sum(), _energy(a_UV))


def imaginary_share(a_UV: NDArray, keys: Sequence[int]) -> float:
    """sum |Im a_k| / sum |a_k| over the keys."""
    a_K = key_coefficients(a_UV, keys)
    return _share(np.abs(a_K.imag).sum(), np.abs(a_K).sum())


def constant_share(a_UV: NDArray) -> float:
    """Share of the energy that depends on z alone or on x alone: no such term can tell right sums from wrong."""
    energy_UV = np.abs(a_UV) ** 2
    return _share(energy_UV[0, 1:].sum() + energy_UV[1:, 0].sum(), _energy(a_UV))


def _energy(a_UV: NDArray) -> float:
    energy_UV = np.abs(a_UV) ** 2
    return float(energy_UV.sum() - energy_UV[0, 0])


def _share(part: float, total: float) -> float:
    """NaN for a total of 0."""
    return float(part / total) if total > 0 else float("nan")


def largest_coefficients(a_UV: NDArray, count: int) -> pd.DataFrame:
    """The `count` largest a[u, v], one of each mirrored pair, without the mean, the largest first.

    Columns z_frequency = u from 0 to (p - 1)/2, x_frequency = v within p/2 of 0, real, imaginary.
    """
    p = len(a_UV)
    u, v = np.indices((p, p)).reshape(2, -1)
    v = wrap(v, p).astype(np.int64)
    kept = (u <= p // 2) & ((u > 0) | (v > 0))
    u, v = u[kept], v[kept]
    a = np.asarray(a_UV)[u, v % p]
    order = np.argsort(-np.abs(a), kind="stable")[:count]
    return pd.DataFrame(
        {"z_frequency": u[order], "x_frequency": v[order], "real": a[order].real, "imaginary": a[order].imag}
    )
