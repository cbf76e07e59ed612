"""The cosine basis over time, orthonormal DCT-II: neurons as sums of frequencies (000-8, 000-12, 000-16).

Frequency 0 is the mean, as required for k = 1 in Appendix C.1 (E000-5). The paper leaves the normalisation open; the
orthonormal one preserves energies and so the scale of the thresholds.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def basis(length: int) -> NDArray[np.float64]:
    """c[k, t] = sqrt((2 - [k = 0]) / T) cos(pi k (2 t + 1) / (2 T)), (T, T): rows are an orthonormal basis."""
    if length < 1:
        raise ValueError(f"a cosine basis over {length} positions: there must be one at least")
    k, t = np.arange(length)[:, None], np.arange(length)[None]
    waves = np.sqrt(2 / length) * np.cos(np.pi * k * (2 * t + 1) / (2 * length))
    waves[0] = np.sqrt(1 / length)
    waves.setflags(write=False)
    return waves


def to_frequencies(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """Each coordinate's frequencies over time, (n, T, d) -> (n, T, d), frequency k in row k; energies are preserved."""
    neurons_NTD = np.asarray(neurons_NTD, dtype=np.float64)
    return basis(neurons_NTD.shape[1]) @ neurons_NTD
