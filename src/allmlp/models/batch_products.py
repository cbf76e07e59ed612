"""The products of `triangles` for a CPU: of a block, one product per head and tap for all sequences, without copies.

Names as in `triangles`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Blocks = Sequence[tuple[slice, slice]]  # rows of output tokens, and the input tokens that they read


def batch_product(wide_BSHP: Tensor, lower_HKTS: Tensor, bias_HT: Tensor | None, blocks: Blocks) -> Tensor:
    """(B, T, H, F), contiguous."""
    (B, _, H, P), (_, K, T, _) = wide_BSHP.shape, lower_HKTS.shape
    F = P - K + 1
    y_BTHF = wide_BSHP.new_empty(B, T, H, F)
    for h, weight_KTS in enumerate(lower_HKTS):
        for rows, read in blocks:
            y_BRF = y_BTHF[:, rows, h]
            for k, weight_TS in enumerate(weight_KTS):
                factors = weight_TS[rows, read].expand(B, -1, -1), wide_BSHP[:, read, h, k : k + F]
                if k:
                    y_BRF.baddbmm_(*factors)
                elif bias_HT is None:
                    torch.bmm(*factors, out=y_BRF)
                else:
                    torch.baddbmm(bias_HT[h, rows, None].expand_as(y_BRF), *factors, out=y_BRF)
    return y_BTHF


def batch_gradients(
    g_BTHF: Tensor, wide_BSHP: Tensor, lower_HKTS: Tensor, wanted: list[bool], blocks: Blocks
) -> tuple[Tensor, Tensor]:
    """Of the widened input, (B, S, H, P), and of the weights; empty where not wanted."""
    dx_BSHP, dw_HKTS = g_BTHF.new_empty(0), lower_HKTS.new_empty(0)
    if wanted[0]:
        dx_BSHP = _of_input(g_BTHF, lower_HKTS, blocks)
    if wanted[1]:
        dw_HKTS = _of_weights(g_BTHF, wide_BSHP, lower_HKTS, blocks)
    return dx_BSHP, dw_HKTS


def _of_input(g_BTHF: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    """By blocks of columns, each with the rows that read it: every gradient is written once a tap."""
    (B, T, H, F), (_, K, _, S) = g_BTHF.shape, lower_HKTS.shape
    dx_BSHP = (g_BTHF.new_zeros if K > 1 else g_BTHF.new_empty)(B, S, H, F + K - 1)
    for h, weight_KTS in enumerate(lower_HKTS):
        for rows, read in blocks:
            columns, below = slice(rows.start, read.stop), slice(rows.start, T)
            for k, weight_TS in enumerate(weight_KTS):
                factors = weight_TS[below, columns].mT.expand(B, -1, -1), g_BTHF[:, below, h]
                dx_BsF = dx_BSHP[:, columns, h, k : k + F]
                if K > 1:
                    dx_BsF.baddbmm_(*factors)
                else:
                    torch.bmm(*factors, out=dx_BsF)
    return dx_BSHP


def _of_weights(g_BTHF: Tensor, wide_BSHP: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    F = g_BTHF.shape[3]
    dw_HKTS = torch.zeros_like(lower_HKTS)
    for h, dw_KTS in enumerate(dw_HKTS):
        for rows, read in blocks:
            for k, dw_TS in enumerate(dw_KTS):
                torch.sum(torch.bmm(g_BTHF[:, rows, h], wide_BSHP[:, read, h, k : k + F].mT), 0, out=dw_TS[rows, read])
    return dw_HKTS
