"""The products of `triangles` for a GPU, which has to be filled: of a block, one product per tap for all heads.

Sequences and features together are the columns of a head's matrix, so that its weights are read once. Names as in
`triangles`; N = B F columns.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.models.batch_products import Blocks


def product(wide_BSHP: Tensor, lower_HKTS: Tensor, bias_HT: Tensor | None, blocks: Blocks) -> Tensor:
    """(B, T, H, F), contiguous."""
    (B, _, H, P), (_, K, T, _) = wide_BSHP.shape, lower_HKTS.shape
    read_KHSN, y_BTHF = _columns(wide_BSHP, K), wide_BSHP.new_empty(B, T, H, P - K + 1)
    for rows, read in blocks:
        y_HRN = None if bias_HT is None else bias_HT[:, rows, None]
        for x_HSN, weight_HTS in zip(read_KHSN, lower_HKTS.unbind(1), strict=True):
            factors = weight_HTS[:, rows, read], x_HSN[:, read]
            y_HRN = torch.bmm(*factors) if y_HRN is None else torch.baddbmm(y_HRN, *factors)
        assert y_HRN is not None
        y_BTHF[:, rows] = _unflatten(y_HRN, B).permute(2, 1, 0, 3)
    return y_BTHF


def input_gradient(g_BTHF: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    """The gradient of the widened input, (B, S, H, P); parts of several blocks are added up as floats, halves too."""
    (g_HTN,), summed = _columns(g_BTHF, 1), torch.promote_types(g_BTHF.dtype, torch.float32)
    dx_HSBP = g_HTN.new_empty(0)
    for rows, read in reversed(blocks):  # the last rows read all tokens: the others' parts are added
        part_HsBP = _taps_sum(g_HTN[:, rows], lower_HKTS[:, :, rows, read], len(g_BTHF))
        if rows.stop == g_HTN.shape[1]:
            dx_HSBP = part_HsBP if rows.start == 0 else part_HsBP.to(summed)
        else:
            dx_HSBP[:, read] += part_HsBP
    return dx_HSBP.to(g_BTHF.dtype).permute(2, 1, 0, 3).contiguous()


def weight_gradient(g_BTHF: Tensor, wide_BSHP: Tensor, lower_HKTS: Tensor, blocks: Blocks) -> Tensor:
    """The gradient of the weights."""
    (g_HTN,), dw_HKTS = _columns(g_BTHF, 1), torch.zeros_like(lower_HKTS)
    for x_HSN, dw_HTS in zip(_columns(wide_BSHP, lower_HKTS.shape[1]), dw_HKTS.unbind(1), strict=True):
        for rows, read in blocks:
            dw_HTS[:, rows, read] = torch.bmm(g_HTN[:, rows], x_HSN[:, read].mT)
    return dw_HKTS


def _taps_sum(g_HRN: Tensor, weight_HKRs: Tensor, B: int) -> Tensor:
    K = weight_HKRs.shape[1]
    taps = [_unflatten(torch.bmm(weight_HRs.mT, g_HRN), B) for weight_HRs in weight_HKRs.unbind(1)]
    wide = [F.pad(tap, (k, K - 1 - k)) for k, tap in enumerate(taps)] if K > 1 else taps
    return sum(wide[1:], wide[0])


def _columns(wide_BSHP: Tensor, taps: int) -> list[Tensor]:
    """What each tap reads, K of (H, S, N)."""
    windows = wide_BSHP.permute(2, 1, 0, 3).unfold(3, wide_BSHP.shape[-1] - taps + 1, 1).unbind(3)
    return [window_HSBF.flatten(2) for window_HSBF in windows]


def _unflatten(y_HRN: Tensor, B: int) -> Tensor:
    return y_HRN.unflatten(2, (B, -1))
