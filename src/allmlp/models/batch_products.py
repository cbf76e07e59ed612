"""The products of `triangles` for a CPU: of a block, one per head, tap and sequence, without copies of the input.

Names as in `triangles`. In half precision what is added up, taps and the weights' gradients of sequences, has been
rounded once more.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Blocks = Sequence[tuple[slice, slice]]  # rows of output tokens, and the input tokens that they read


def product(wide_BSHP: Tensor, lower_HKTS: Tensor, bias_HT: Tensor | None, blocks: Blocks) -> Tensor:
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


def input_gradient(g_BTHF: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    """The gradient of the widened input, (B, S, H, P): a block of columns from the rows that read it."""
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


def weight_gradient(g_BTHF: Tensor, wide_BSHP: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    """The gradient of the weights: the sum of those of all sequences, which it holds for one block."""
    F = g_BTHF.shape[3]
    dw_HKTS = torch.zeros_like(lower_HKTS)
    for h, dw_KTS in enumerate(dw_HKTS):
        for rows, read in blocks:
            for k, dw_TS in enumerate(dw_KTS):
                torch.sum(torch.bmm(g_BTHF[:, rows, h], wide_BSHP[:, read, h, k : k + F].mT), 0, out=dw_TS[rows, read])
    return dw_HKTS
