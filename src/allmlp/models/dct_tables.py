"""Constants of sliding cosine transforms: windows, coefficients, and the update of a window's sums (000 App. C).

Frequencies of one parity belong together: a value that leaves a window of length t counts by (-1)^j. In the shapes P
is the parity, with J = ceil(k / 2) frequencies each; where k is odd, the last odd one is zero.
"""

import math

import numpy as np
import torch
from torch import Tensor

from allmlp.errors import UserError
from allmlp.models.layers import check_positive


def log_windows(n_heads: int, shortest: int, longest: int) -> list[int]:
    """One window per head, evenly in their logarithm from `shortest` to `longest`; one head has `longest` (E000-9)."""
    check_positive(n_heads=n_heads, shortest=shortest)
    if longest < shortest:
        raise UserError(f"a window of {shortest} tokens does not fit a context of {longest}: take fewer frequencies")
    steps = [h / (n_heads - 1) if n_heads > 1 else 1.0 for h in range(n_heads)]
    return [round(shortest * (longest / shortest) ** step) for step in steps]


def coefficients(window: int, frequencies: int) -> np.ndarray:
    """The orthonormal DCT-II's first rows, (k, t) float64, oldest position first."""
    if not 1 <= frequencies <= window:
        raise UserError(f"frequencies={frequencies}: a window of {window} tokens has 1 to {window}")
    j, n = np.arange(frequencies)[:, None], np.arange(window)
    scale = np.where(j == 0, math.sqrt(1 / window), math.sqrt(2 / window))
    return scale * np.cos(np.pi * j * (2 * n + 1) / (2 * window))


def chunk_tables(windows: list[int], frequencies: int, chunk: int, chunks: int) -> dict[str, Tensor]:
    """The matrices of `sliding_dct`, float64.

    inside (P H, J c, c + 2 J): a chunk's e, and the past's sums (cos, then sin) at its start -> its coefficients.
    ahead (P H, 2 J, c): a chunk's e -> its own sums of e cos(w b) and e sin(w b) over its positions b.
    phase (P H, J, N, 1, 2): cos and sin of w times each chunk's first position.
    """
    w_PHJ, s_PHJ = _scales(windows, frequencies)
    J, b = w_PHJ.shape[-1], np.arange(chunk)
    lags = b[:, None] - b
    entering = s_PHJ[..., None, None] * np.where(lags >= 0, np.cos(w_PHJ[..., None, None] * (lags + 0.5)), 0)
    own = np.eye(J)[:, None]  # each frequency reads its own sums
    turned = w_PHJ[..., None] * (b + 0.5)
    past = [(s_PHJ[..., None] * part)[..., None] * own for part in (np.cos(turned), -np.sin(turned))]
    inside = np.concatenate([entering, *past], axis=-1)
    ahead = np.stack([np.cos(w_PHJ[..., None] * b), np.sin(w_PHJ[..., None] * b)], axis=2)
    phase = _phase(windows, frequencies, chunk * np.arange(chunks))
    tables = {
        "inside": inside.reshape(-1, J * chunk, chunk + 2 * J),
        "ahead": ahead.reshape(-1, 2 * J, chunk),
        "phase": np.stack([np.cos(phase), np.sin(phase)], axis=-1).reshape(-1, J, chunks, 1, 2),
    }
    return {name: torch.from_numpy(np.ascontiguousarray(table)) for name, table in tables.items()}


def step_tables(windows: list[int], frequencies: int, position: int) -> tuple[Tensor, Tensor]:
    """A position's factors for the running sums (cos and sin of w i), and for reading them: (P, H, 2, J) each."""
    w_PHJ, s_PHJ = _scales(windows, frequencies)
    phase_PHJ = _phase(windows, frequencies, np.array([position]))[..., 0]
    read_PHJ = phase_PHJ + w_PHJ / 2
    adds = np.stack([np.cos(phase_PHJ), np.sin(phase_PHJ)], axis=2)
    reads = np.stack([s_PHJ * np.cos(read_PHJ), s_PHJ * np.sin(read_PHJ)], axis=2)
    return torch.from_numpy(adds), torch.from_numpy(reads)


def _frequencies(frequencies: int) -> np.ndarray:
    """j of each parity, (P, 1, J); k = 1 has one parity."""
    parities, J = min(2, frequencies), -(-frequencies // 2)
    return 2 * np.arange(J) + np.arange(parities)[:, None, None]


def _scales(windows: list[int], frequencies: int) -> tuple[np.ndarray, np.ndarray]:
    """w = pi j / t and s_j (-1)^j, (P, H, J) each; a scale of zero beyond the last frequency."""
    t, j = np.array(windows)[:, None], _frequencies(frequencies)
    scale = np.where(j == 0, np.sqrt(1 / t), np.sqrt(2 / t)) * (-1.0) ** j
    return np.pi * j / t, np.where(j < frequencies, scale, 0)


def _phase(windows: list[int], frequencies: int, positions: np.ndarray) -> np.ndarray:
    """w i of each parity, head, frequency and position, (P, H, J, N), whole turns left out before it is rounded."""
    t, j = np.array(windows)[:, None, None], _frequencies(frequencies)[..., None]
    return np.pi * ((j * positions) % (2 * t)) / t
