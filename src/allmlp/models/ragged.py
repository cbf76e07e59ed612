"""Sequences of which only some positions are computed: their rows in one matrix, without the padding between them.

Names: B sequences of T positions; N rows, sequence after sequence; L positions of the sequence with the most rows.
"""

from typing import Any

import torch
from torch import Tensor


def select_rows(x: Tensor, at: Tensor) -> Tensor:
    """`x[at]`, for x (..., D) and `at` (...) bool: (N, D). Its gradient adds nothing up, as no row is taken twice."""
    rows = x.flatten(0, -2)
    return rows if at.all() else _TakeRows.apply(rows, at.flatten().nonzero()[:, 0])


class RaggedLayout:
    """The kept positions of each sequence: neighbours, as mixers take them for such; at least one in all."""

    def __init__(self, kept_BT: Tensor) -> None:
        lengths_B = kept_BT.sum(1)
        self.kept_BT, self.B, self.L = kept_BT, len(kept_BT), int(lengths_B.max())
        _, self.places_N = kept_BT.nonzero(as_tuple=True)  # of each row in its sequence
        column_L, first_B = kept_BT.new_ones(self.L).cumsum(0) - 1, lengths_B.cumsum(0) - lengths_B
        used_BL = column_L < lengths_B[:, None]
        self.at_N = used_BL.flatten().nonzero()[:, 0]
        # columns after a sequence's last row repeat it, or the row before: of zeros a norm would divide by 0
        self.source_BL = (first_B[:, None] + torch.minimum(column_L, lengths_B[:, None] - 1)).clamp(min=0).flatten()

    def take_rows(self, x_BTD: Tensor) -> Tensor:
        """The rows of the kept positions: (B, T, D) -> (N, D)."""
        return select_rows(x_BTD, self.kept_BT)

    def lay_out_rows(self, x_ND: Tensor) -> Tensor:
        """Each sequence's rows from column 0 on, then copies without a gradient: (N, D) -> (B, L, D)."""
        return _LayOutRows.apply(x_ND, self.source_BL, self.at_N).view(self.B, self.L, -1)

    def rows(self, x_BLD: Tensor) -> Tensor:
        """What `lay_out_rows` laid out, without the copies: (B, L, D) -> (N, D)."""
        return _TakeRows.apply(x_BLD.flatten(0, 1), self.at_N)


class _TakeRows(torch.autograd.Function):
    """Rows, each at most once: (M, D), (N,) -> (N, D)."""

    @staticmethod
    def forward(ctx: Any, x_MD: Tensor, at_N: Tensor) -> Tensor:
        ctx.save_for_backward(at_N)
        ctx.total = len(x_MD)
        return x_MD.index_select(0, at_N)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (at_N,) = ctx.saved_tensors
        return grads[0].new_zeros(ctx.total, grads[0].shape[1]).index_copy_(0, at_N, grads[0]), None


class _LayOutRows(torch.autograd.Function):
    """Rows, some repeated; only the places `at_N` have a gradient."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, source_M: Tensor, at_N: Tensor) -> Tensor:
        ctx.save_for_backward(at_N)
        return x_ND.index_select(0, source_M)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (at_N,) = ctx.saved_tensors
        return grads[0].index_select(0, at_N), None, None
