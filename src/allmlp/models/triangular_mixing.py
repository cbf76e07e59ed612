"""The triangular feed-forward over time: one causal linear map, or two in a row."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.errors import UserError
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_choice, check_positive
from allmlp.models.rows import Rows

Mask = Literal["averaging", "gradient", "plain"]
MASKS, FORMS = ("averaging", "gradient", "plain"), ("transpose", "reshape")


def averaging_mask(context: int, discount: float = 1.0) -> Tensor:
    """M[t, s] = discount^(t - s) / sum over s' <= t of discount^(t - s'), 0 for s > t: (T, T) (004 Figure 1).

    With discount 1.0 row t is 1 / (t + 1) over its past.
    """
    time = torch.arange(context, dtype=torch.float64)
    ages = (time[:, None] - time).clamp(min=0)
    weights = (discount**ages).tril()
    return (weights / weights.sum(dim=1, keepdim=True)).float()


class Triangle(nn.Module):
    """One lower triangular (T, T) matrix over time, without bias (004 Sec. 2). `forward()` is the matrix that mixes.

    mask "averaging": the trained weights times `averaging_mask` (the text, and the code of October 2023); "plain": the
    weights alone; "gradient": the weights alone, and the mask on their gradient (the code since December 2023). Above
    the diagonal there is no value and no gradient. Weights begin as those of nn.Linear.
    """

    averaging: Tensor

    def __init__(self, context: int, mask: Mask, discount: float) -> None:
        super().__init__()
        self.mask = mask
        self.weight = nn.Parameter(nn.Linear(context, context, bias=False).weight.detach().tril())
        self.register_buffer("averaging", averaging_mask(context, discount), persistent=False)

    def forward(self) -> Tensor:
        weight_TT = self.weight.tril()
        if self.mask == "plain":
            return weight_TT
        averaged_TT = weight_TT * self.averaging.to(weight_TT)
        if self.mask == "averaging":
            return averaged_TT
        return averaged_TT + (weight_TT - averaged_TT).detach()


class TriangularMixing(TokenMixer):
    """y_t = sum over s <= t of P[t, s] x_s, one matrix for all features: (B, T, D) -> (B, T, D), T <= context.

    P is one triangle, or the product of two. Two linear triangles in sequence express no more than one (E004-2), so
    they are multiplied first, which costs T^3 products in place of B T^2 D.

    form "transpose" is the text's: P acts on the time axis. "reshape" is the published code's: it reads the same
    memory, token after token, as rows of `context` numbers, and P acts inside each row (E004-1). It is causal, but a
    number reads only earlier ones of its row. A shorter sequence fills fewer rows, so no later token alters the result.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        layers: int = 2,
        mask: Mask = "averaging",
        discount: float = 1.0,
        form: Literal["transpose", "reshape"] = "transpose",
    ) -> None:
        super().__init__(d_model, context)
        check_positive(d_model=d_model, context=context, layers=layers)
        check_choice("mask", mask, MASKS)
        check_choice("form", form, FORMS)
        if not 0 < discount <= 1:
            raise UserError(f"discount={discount!r}: it must be above 0 and at most 1, which averages")
        if discount != 1 and mask == "plain":
            raise UserError(f"discount={discount!r} has no effect on mask='plain': leave it out, or take 'averaging'")
        self.form = form
        self.triangles = nn.ModuleList(Triangle(context, mask, discount) for _ in range(layers))

    def matrix(self) -> Tensor:
        """P, (context, context), lower triangular: the last triangle times those before it."""
        first, *others = self.triangles
        product_TT: Tensor = first()
        for triangle in others:
            product_TT = triangle() @ product_TT
        return product_TT

    def forward(self, x_BTD: Tensor) -> Tensor:
        product_TT, T = self.matrix(), x_BTD.shape[1]
        if self.form == "transpose":
            return product_TT[:T, :T] @ x_BTD
        return self._in_rows(x_BTD.flatten(1), product_TT).view_as(x_BTD)

    def _in_rows(self, x_BN: Tensor, product_TT: Tensor) -> Tensor:
        """Numbers in memory's order, N of a sequence, mixed in rows of `context`; the last row may be short."""
        missing = -x_BN.shape[1] % self.context
        rows_BRT = F.pad(x_BN, (0, missing)).unflatten(1, (-1, self.context))
        return (rows_BRT @ product_TT.T).flatten(1)[:, : x_BN.shape[1]]

    def start(self, like_BD: Tensor) -> Any:
        """(P, the past): all tokens, or with "reshape" the numbers of the unfinished row."""
        product_TT, B = self.matrix(), like_BD.shape[0]
        if self.form == "transpose":
            return product_TT, Rows(like_BD.new_empty(B, 0, self.d_model))
        return product_TT, like_BD.new_empty(B, 0)

    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One more token in O(t D), with "reshape" in O(context (context + D)): the last row of `forward`."""
        product_TT, past = state
        if self.form == "transpose":
            seen_BtD, past = past.append(x_BD[:, None])
            t = seen_BtD.shape[1]
            return product_TT[t - 1, :t] @ seen_BtD, (product_TT, past)
        row_BN = torch.cat([past, x_BD], dim=1)
        mixed_BD = self._in_rows(row_BN, product_TT)[:, past.shape[1] :]
        return mixed_BD, (product_TT, row_BN[:, row_BN.shape[1] // self.context * self.context :])
