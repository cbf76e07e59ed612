"""The cosine transform of a window that slides over a sequence, in O(T k d) whatever the windows' lengths (000 App. C).

Coefficient j of the last t positions is a sum over lags l of s_j (-1)^j cos(w (l + 1/2)) x_{i-l}, w = pi j / t. As the
phase turns by pi j from one end of the window to the other, it is also the sum over the whole past of
e_{i-l} cos(w (l + 1/2)), e_i = x_i - (-1)^j x_{i-t}: the value that enters the window less the one that leaves it. That
past is carried from chunk to chunk as 2 k running sums, and inside a chunk it is one matrix product.

Frequencies of one parity belong together: a value that leaves a window counts by (-1)^j. In the shapes P is the parity,
with J = ceil(k / 2) frequencies each; where k is odd, the last odd one is zero.

The running sums and their terms are float64: a term is subtracted t positions later up to 1e-16 of it, so that the
error is that of the direct sum. In float32 it would grow with the length, and a spike would stay.
The backward pass has the same sums, from the end. It is written by hand: PyTorch's takes longer, keeps more, and takes
differences of sums over the whole future in float32.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import UserError, parameter_error
from allmlp.models.layers import check_positive, disable_autocast, to_float32
from allmlp.models.rows import Rows
from allmlp.models.vmap import fold_seeds, unfold_seeds

CHUNK = 32  # positions of one matrix product

# positions read, all their x, (B, t, H K), and the running sums, (B, P, H, 2, J, K) float64
Memory = tuple[int, Rows, Tensor]


class SlidingDCT(nn.Module):
    """y_i = sum_j W_j^T DCT_j(x_{i-t+1}, ..., x_i), a window t for each head, zeros before the first position.

    Shapes: x (B, T, H, K), weights W (H, k, K, K) -> y (B, T, H K), T <= context. Orthonormal coefficients
    j = 0..k-1. Half precision is computed in single: it cannot hold the differences.
    """

    def __init__(self, windows: list[int], frequencies: int, context: int) -> None:
        super().__init__()
        self.windows, self.frequencies = windows, frequencies
        for window in windows:
            coefficients(window, frequencies)  # refuses too many
        for name, table in chunk_tables(windows, frequencies, CHUNK, -(-context // CHUNK)).items():
            self.register_buffer(name, table, persistent=False)

    def forward(self, x_BTHK: Tensor, weights_HkKK: Tensor) -> Tensor:
        x_BTHK, weights_HkKK = to_float32(x_BTHK, weights_HkKK)
        T = x_BTHK.shape[1]
        N = -(-T // CHUNK)
        inside, ahead, phase = (self.get_buffer(name) for name in ("inside", "ahead", "phase"))
        padded_BTHK = F.pad(x_BTHK, (0, 0, 0, 0, 0, N * CHUNK - T)) if T % CHUNK else x_BTHK
        with disable_autocast(x_BTHK):
            y_BTD, _ = _SlidingTransform.apply(
                padded_BTHK, weights_HkKK, self.windows, inside.to(x_BTHK.dtype), ahead.double(), phase[:, :, :N]
            )
        return y_BTD[:, :T]

    def start(self, like_BD: Tensor) -> Memory:
        """No position yet; like_BD: (B, H K)."""
        B, D = like_BD.shape
        H, P, J = len(self.windows), min(2, self.frequencies), -(-self.frequencies // 2)
        sums = like_BD.new_zeros((B, P, H, 2, J, D // H), dtype=torch.float64)
        return 0, Rows(like_BD.new_empty(B, 0, D)), sums

    def step(self, x_BHK: Tensor, weights_HkKK: Tensor, state: Memory) -> tuple[Tensor, Memory]:
        """One more position in O(k d): (y (B, H K), the memory that follows)."""
        x_BHK, weights_HkKK = to_float32(x_BHK, weights_HkKK)
        B, H, K = x_BHK.shape
        i, rows, sums = state
        seen_BtD, rows = rows.append(x_BHK.reshape(B, 1, H * K))
        seen_BtHK = seen_BtD.view(B, i + 1, H, K)
        left = [seen_BtHK[:, i - t, h] if t <= i else torch.zeros_like(x_BHK[:, h]) for h, t in enumerate(self.windows)]
        adds, reads = (table.to(x_BHK.device)[..., None] for table in step_tables(self.windows, self.frequencies, i))
        with disable_autocast(x_BHK):
            entering, leaving = x_BHK.double(), torch.stack(left, dim=1).double()
            e_BPHK = torch.stack([entering - leaving, entering + leaving][: sums.shape[1]], dim=1)
            sums = sums + adds * e_BPHK[:, :, :, None, None]
            dct_BHkK = (reads * sums).sum(3).permute(0, 2, 3, 1, 4).flatten(2, 3)[:, :, : self.frequencies]
            y_BHK = torch.einsum("bhjk,hjkl->bhl", dct_BHkK.to(x_BHK.dtype), weights_HkKK)
        return y_BHK.reshape(B, H * K), (i + 1, rows, sums)


class _SlidingTransform(torch.autograd.Function):
    """(x (B, T, H, K), W (H, k, K, K), windows, tables) -> (B, T, H K), T a multiple of the chunk.

    And the coefficients (P, H, J, R, K), which the backward pass needs. Inside, positions are (c, N): place in the
    chunk, chunk; R = N B K columns.
    """

    @staticmethod
    def forward(
        x_BTHK: Tensor, weights: Tensor, windows: list[int], inside: Tensor, ahead: Tensor, phase: Tensor
    ) -> tuple[Tensor, Tensor]:
        B, T, H, K = x_BTHK.shape
        k, N, P, J = weights.shape[1], T // CHUNK, len(inside) // H, phase.shape[1]
        now_BTHK, left_BTHK = x_BTHK.double(), torch.zeros_like(x_BTHK, dtype=torch.float64)
        for h, t in enumerate(windows):
            if t < T:
                left_BTHK[:, t:, h] = x_BTHK[:, : T - t, h]
        e_PHcNBK = now_BTHK.new_empty(P, H, CHUNK, N, B, K)
        for sign, e_HcNBK in zip((-1, 1), e_PHcNBK.unbind(0), strict=False):
            torch.add(_split_chunks(now_BTHK), _split_chunks(left_BTHK), alpha=sign, out=e_HcNBK)
        given = x_BTHK.new_empty(P * H, CHUNK + 2 * J, N, B * K)  # the input of `inside`: e, and the past's sums
        given[:, :CHUNK] = e_PHcNBK.view(P * H, CHUNK, N, B * K)
        past = given[:, CHUNK:].unflatten(1, (2, J))
        past[..., 0, :] = 0
        if N > 1:
            own = torch.bmm(ahead, e_PHcNBK.view(P * H, CHUNK, -1)).view(P * H, 2, J, N, B * K)[..., :-1, :]
            turn = torch.view_as_complex(phase.double())
            sums = (turn[:, :, :-1] * torch.complex(*own.unbind(1))).cumsum(2)
            past[..., 1:, :] = torch.view_as_real(turn[:, :, 1:] * sums.conj()).movedim(-1, 1)
        dct = torch.bmm(inside, given.flatten(2)).view(P, H, J, -1, K)
        y_HRK = torch.bmm(dct[0, :, 0], weights[:, 0])
        for j in range(1, k):
            y_HRK.baddbmm_(dct[j % 2, :, j // 2], weights[:, j])
        return y_HRK.view(H, CHUNK, N, B, K).permute(3, 2, 1, 0, 4).reshape(B, T, H * K), dct

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        (_, weights, ctx.windows, *tables), (_, dct) = inputs, output
        ctx.mark_non_differentiable(dct)
        ctx.set_materialize_grads(False)  # that of `dct` would be zeros
        ctx.save_for_backward(dct, weights, *tables)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, weights: Tensor, windows: list[int], *tables: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Seeds are heads; all have the same tables."""
        N, H = info.batch_size, len(windows)
        same = (table if dim is None else table.select(dim, 0) for table, dim in zip(tables, in_dims[3:], strict=True))
        tables = tuple(fold_seeds(table.unflatten(0, (-1, H)), N, None, 1).flatten(0, 1) for table in same)
        x_BTHK, weights_HkKK = fold_seeds(x, N, in_dims[0], 2), fold_seeds(weights, N, in_dims[1], 0)
        y_BTD, dct = _SlidingTransform.apply(x_BTHK, weights_HkKK, windows * N, *tables)
        (y, of_y), (stacked, of_dct) = unfold_seeds(y_BTD, N, 2), unfold_seeds(dct, N, 1)
        return (y, stacked), (of_y, of_dct)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 6
        dct, weights, inside, ahead, phase = ctx.saved_tensors
        (P, H, J, _, K), (B, T, _), k = dct.shape, gradients[0].shape, weights.shape[1]
        N = T // CHUNK
        g_HRK = _split_chunks(gradients[0].view(B, T, H, K)).reshape(H, -1, K)
        g_weights, g_dct = torch.empty_like(weights), torch.empty_like(dct)
        for j in range(k):
            g_weights[:, j] = torch.bmm(dct[j % 2, :, j // 2].mT, g_HRK)
            g_dct[j % 2, :, j // 2] = torch.bmm(g_HRK, weights[:, j].mT)
        if k < P * J:
            g_dct[-1, :, -1] = 0  # the odd parity has no last frequency
        g_given = torch.bmm(inside.mT, g_dct.view(P * H, J * CHUNK, -1))
        g_e = g_given[:, :CHUNK].double()
        if N > 1:
            g_past = g_given[:, CHUNK:].view(P * H, 2, J, N, B * K)[..., 1:, :].double()
            turn = torch.view_as_complex(phase.double())
            g_sums = turn[:, :, 1:] * torch.complex(g_past[:, 0], -g_past[:, 1])
            g_own = turn[:, :, :-1].conj() * g_sums.flip(2).cumsum(2).flip(2)
            g_own = torch.view_as_real(g_own).movedim(-1, 1).reshape(P * H, 2 * J, -1)
            g_e[:, :, : (N - 1) * B * K] += torch.bmm(ahead.mT, g_own)
        g_e = g_e.view(P, H, CHUNK, N, B, K)
        entered = _join_chunks(g_e.sum(0))
        left = _join_chunks(g_e[1] - g_e[0] if P == 2 else -g_e[0])
        for h, t in enumerate(ctx.windows):
            if t < T:
                entered[:, : T - t, h] += left[:, t:, h]
        return entered.to(weights.dtype), g_weights, None, None, None, None


def _split_chunks(x_BTHK: Tensor) -> Tensor:
    """(B, T, H, K) -> (H, c, N, B, K), a view."""
    return x_BTHK.unflatten(1, (-1, CHUNK)).permute(3, 2, 1, 0, 4)


def _join_chunks(x_HcNBK: Tensor) -> Tensor:
    """(H, c, N, B, K) -> (B, T, H, K)."""
    return x_HcNBK.permute(3, 2, 1, 0, 4).flatten(1, 2).contiguous()


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
        raise parameter_error("frequencies", frequencies, f"a window of {window} tokens has 1 to {window}")
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
