# mypy: disable-error-code="no-untyped-def"
"""The sum over pairs of `models.relation` as Triton kernels, for a GPU: forward and backward, in single precision.

What bounds them. Per pair and feature the forward pass takes an addition, a product, an exponential and an
accumulation. An H200 starts 16 exponentials and 128 other operations per clock and multiprocessor, so that the
exponentials bound the time: n^2 d / 2 of them at 3.7e12 a second. Of the compiled inner loops (sm_90, ptxas) 16
exponentials, 128 clocks of a scheduler, stand beside 99 instructions forward and 123 and 168 in the two backward
kernels: forward and backward should take 3.3 times the forward exponentials, 1.7 times those of forward and
recomputed. (Counted; only whole steps were timed, in benchmarks/gpu.json.) The backward pass takes exponentials twice,
once for each gradient, so that no two programs write to one place: no atomics, the same bits every time. The norms are
hardly any work: 1 / rms of all pairs is one matrix product on tensor cores, kept as (B, T, T) numbers while a
pass runs, as are the sums over features that the norm's backward needs, once per `block_d` features.

A program owns `block_t` tokens and `block_d` features of one sequence in registers and streams the other tokens,
one at a time, 9 bytes a clock from the caches: every sum over tokens is a running sum in a thread, in the order
of time, whatever the block sizes. Blocks wholly in the future are never visited; the later half of the block on the
diagonal is masked after the activation.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

ACTIVATIONS = {"exp": 0, "relu": 1, "elu": 2}
LOG2_E = 1.4426950408889634
BLOCK_T, BLOCK_D = 8, 64  # 512 sums: one warp, so that nothing waits at a barrier, and little of the diagonal wasted
SUMS_PER_WARP = 512  # 16 a thread: 80 to 106 registers, nothing spilled
TILE = tl.constexpr(32)  # of the matrix product


@triton.jit
def _activate(z, ACTIVATION: tl.constexpr):
    """Of z in units of log2(e), but for relu."""
    if ACTIVATION == 0:
        return tl.exp2(z)
    if ACTIVATION == 1:
        return tl.maximum(z, 0.0)
    return tl.where(z > 0, z * 0.6931471805599453, tl.exp2(tl.minimum(z, 0.0)) - 1)


@triton.jit
def _slope(z, ACTIVATION: tl.constexpr):
    if ACTIVATION == 0:
        return tl.exp2(z)
    if ACTIVATION == 1:
        return tl.where(z > 0, 1.0, 0.0)
    return tl.exp2(tl.minimum(z, 0.0))


@triton.jit
def _inverse_rms_kernel(rows, columns, r, T, B, D, eps, LATER_ROWS: tl.constexpr):
    """r[b, x, y] = 1 / sqrt(mean_d (rows_x + columns_y)^2 + eps), a tile each; 0 for pairs of the future."""
    b = tl.program_id(2)
    x = tl.program_id(1) * TILE + tl.arange(0, TILE)
    y = tl.program_id(0) * TILE + tl.arange(0, TILE)
    product = tl.zeros((TILE, TILE), tl.float32)
    squares_x, squares_y = tl.zeros((TILE,), tl.float32), tl.zeros((TILE,), tl.float32)
    for first in range(0, D, TILE):
        d = first + tl.arange(0, TILE)
        u = tl.load(rows + (x[:, None] * B + b) * D + d, mask=(x[:, None] < T) & (d < D), other=0.0)
        v = tl.load(columns + (y[:, None] * B + b) * D + d, mask=(y[:, None] < T) & (d < D), other=0.0)
        product = tl.dot(u, tl.trans(v), product, input_precision="tf32x3")
        squares_x += tl.sum(u * u, 1)
        squares_y += tl.sum(v * v, 1)
    mean = tl.maximum(squares_x[:, None] + squares_y[None, :] + 2 * product, 0.0) / D
    past = x[:, None] >= y[None, :] if LATER_ROWS else x[:, None] <= y[None, :]
    value = tl.where(past, 1 / tl.sqrt_rn(mean + eps), 0.0)
    at = r + b.to(tl.int64) * T * T + x[:, None] * T + y[None, :]
    tl.store(at, value, mask=(x[:, None] < T) & (y[None, :] < T))


@triton.jit
def _pair(streamed, own, r, token, t, d, b, B, T, D, EXACT: tl.constexpr):
    """Of one streamed token with the block: z = r (p + q) (BLOCK_T, BLOCK_D), and r; r[b, token, t] is read."""
    z = own + tl.load(streamed + (token * B + b) * D + d, mask=d < D, other=0.0)[None, :]
    factor = tl.full(t.shape, 1.0, tl.float32)
    if EXACT:
        factor = tl.load(r + b.to(tl.int64) * T * T + token * T + t, mask=t < T, other=0.0)
        z *= factor[:, None]
    return z, factor


@triton.jit
def _sum_kernel(
    p, q, r_ij, y, T, B, D, EXACT: tl.constexpr, ACTIVATION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr
):
    """y_j = sum over i <= j of activation(z_ij), for a block of j."""
    b = tl.program_id(1)
    first = (tl.num_programs(2) - 1 - tl.program_id(2)) * BLOCK_T  # the longest sums start first
    j, d = first + tl.arange(0, BLOCK_T), tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    at, here = (j[:, None] * B + b) * D + d, (j[:, None] < T) & (d < D)
    own = tl.load(q + at, mask=here, other=0.0)
    total = tl.zeros((BLOCK_T, BLOCK_D), tl.float32)
    for i in range(first):
        z, _ = _pair(p, own, r_ij, i, j, d, b, B, T, D, EXACT)
        total += _activate(z, ACTIVATION)
    for i in range(first, min(first + BLOCK_T, T)):
        z, _ = _pair(p, own, r_ij, i, j, d, b, B, T, D, EXACT)
        total += tl.where(i <= j[:, None], _activate(z, ACTIVATION), 0.0)
    tl.store(y + at, total, mask=here)


@triton.jit
def _later_kernel(
    g, p, q, r_ij, dq, along, T, B, D,
    EXACT: tl.constexpr, ACTIVATION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """dq_j = sum over i <= j of r dz, for a block of j; along[chunk of d, b, i, j] = the chunk's sum of dz z."""
    chunk, b = tl.program_id(0), tl.program_id(1)
    first = (tl.num_programs(2) - 1 - tl.program_id(2)) * BLOCK_T
    j, d = first + tl.arange(0, BLOCK_T), chunk * BLOCK_D + tl.arange(0, BLOCK_D)
    at, here = (j[:, None] * B + b) * D + d, (j[:, None] < T) & (d < D)
    own, slope_y = tl.load(q + at, mask=here, other=0.0), tl.load(g + at, mask=here, other=0.0)
    total = tl.zeros((BLOCK_T, BLOCK_D), tl.float32)
    along += (chunk.to(tl.int64) * B + b) * T * T + j
    for i in range(first):
        z, factor = _pair(p, own, r_ij, i, j, d, b, B, T, D, EXACT)
        dz = _slope(z, ACTIVATION) * slope_y
        total += dz * factor[:, None]
        if EXACT:
            tl.store(along + i * T, tl.sum(dz * z, 1), mask=j < T)
    for i in range(first, min(first + BLOCK_T, T)):
        z, factor = _pair(p, own, r_ij, i, j, d, b, B, T, D, EXACT)
        dz = tl.where(i <= j[:, None], _slope(z, ACTIVATION) * slope_y, 0.0)
        total += dz * factor[:, None]
        if EXACT:
            tl.store(along + i * T, tl.sum(dz * z, 1), mask=j < T)
    tl.store(dq + at, total, mask=here)


@triton.jit
def _earlier_kernel(
    g, p, q, r_ji, dp, T, B, D,
    EXACT: tl.constexpr, ACTIVATION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """dp_i = sum over j >= i of r dz, for a block of i."""
    b = tl.program_id(1)
    first = tl.program_id(2) * BLOCK_T
    i, d = first + tl.arange(0, BLOCK_T), tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    at, here = (i[:, None] * B + b) * D + d, (i[:, None] < T) & (d < D)
    own = tl.load(p + at, mask=here, other=0.0)
    total = tl.zeros((BLOCK_T, BLOCK_D), tl.float32)
    for j in range(first, min(first + BLOCK_T, T)):
        z, factor = _pair(q, own, r_ji, j, i, d, b, B, T, D, EXACT)
        dz = _slope(z, ACTIVATION) * tl.load(g + (j * B + b) * D + d, mask=d < D, other=0.0)[None, :]
        total += tl.where(i[:, None] <= j, dz * factor[:, None], 0.0)
    for j in range(first + BLOCK_T, T):
        z, factor = _pair(q, own, r_ji, j, i, d, b, B, T, D, EXACT)
        dz = _slope(z, ACTIVATION) * tl.load(g + (j * B + b) * D + d, mask=d < D, other=0.0)[None, :]
        total += dz * factor[:, None]
    tl.store(dp + at, total, mask=here)


def pairs_sum(
    p_TBD: Tensor,
    q_TBD: Tensor,
    activation: str,
    exact: bool,
    eps: float,
    block_t: int = BLOCK_T,
    block_d: int = BLOCK_D,
) -> Tensor:
    """`relation._pairs_sum`: contiguous float32 in and out."""
    T, B, D = p_TBD.shape
    r_Bij = _inverse_rms(p_TBD, q_TBD, eps, later_rows=False) if exact else p_TBD
    y_TBD, unit = torch.empty_like(q_TBD), _unit(activation)
    grid, options = _launch(T, B, D, exact, activation, block_t, block_d)
    _sum_kernel[grid](p_TBD * unit, q_TBD * unit, r_Bij, y_TBD, T, B, D, **options)
    return y_TBD


def pairs_gradients(
    g_TBD: Tensor,
    p_TBD: Tensor,
    q_TBD: Tensor,
    activation: str,
    exact: bool,
    eps: float,
    block_t: int = BLOCK_T,
    block_d: int = BLOCK_D,
) -> tuple[Tensor, Tensor]:
    """`relation._pairs_gradients`: contiguous float32 in and out."""
    T, B, D = p_TBD.shape
    dp_TBD, dq_TBD, unit = torch.empty_like(p_TBD), torch.empty_like(q_TBD), _unit(activation)
    grid, options = _launch(T, B, D, exact, activation, block_t, block_d)
    p, q = p_TBD * unit, q_TBD * unit
    r_Bji = _inverse_rms(q_TBD, p_TBD, eps, later_rows=True) if exact else p
    _earlier_kernel[grid](g_TBD, p, q, r_Bji, dp_TBD, T, B, D, **options)
    if not exact:
        _later_kernel[grid](g_TBD, p, q, p, dq_TBD, p, T, B, D, **options)
        return dp_TBD, dq_TBD
    r_Bij = r_Bji.mT.contiguous()
    along = p_TBD.new_zeros(grid[0], B, T, T)  # a sum over features in two parts: chunk by chunk, then the chunks
    _later_kernel[grid](g_TBD, p, q, r_Bij, dq_TBD, along, T, B, D, **options)
    along_Bij = along.sum(0).mul_(r_Bij.square_()).div_(D * unit)
    dp_TBD -= (along_Bij @ q_TBD.transpose(0, 1) + along_Bij.sum(2)[..., None] * p_TBD.transpose(0, 1)).transpose(0, 1)
    dq_TBD -= (along_Bij.mT @ p_TBD.transpose(0, 1) + along_Bij.sum(1)[..., None] * q_TBD.transpose(0, 1)).transpose(
        0, 1
    )
    return dp_TBD, dq_TBD


def _inverse_rms(rows_TBD: Tensor, columns_TBD: Tensor, eps: float, later_rows: bool) -> Tensor:
    """(B, T rows, T columns)."""
    T, B, D = rows_TBD.shape
    r_Bxy, tiles = rows_TBD.new_empty(B, T, T), triton.cdiv(T, TILE.value)
    _inverse_rms_kernel[tiles, tiles, B](rows_TBD, columns_TBD, r_Bxy, T, B, D, eps, LATER_ROWS=later_rows)
    return r_Bxy


def _unit(activation: str) -> float:
    return 1.0 if activation == "relu" else LOG2_E


def _launch(
    T: int, B: int, D: int, exact: bool, activation: str, block_t: int, block_d: int
) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """The grid (chunks of features, sequences, blocks of tokens) and the options that all three kernels take."""
    block_t, block_d = min(block_t, triton.next_power_of_2(T)), min(block_d, triton.next_power_of_2(D))
    options = {
        "EXACT": exact,
        "ACTIVATION": ACTIVATIONS[activation],
        "BLOCK_T": block_t,
        "BLOCK_D": block_d,
        "num_warps": max(1, block_t * block_d // SUMS_PER_WARP),
    }
    return (triton.cdiv(D, block_d), B, triton.cdiv(T, block_t)), options
