"""001's hybrid of transformer and mixer as it was published: under left padding it sees the next token (001-19)."""

from typing import ClassVar, Unpack

import torch
from torch import Tensor

from allmlp.errors import UserError
from allmlp.models.backbone import Block, Sizes
from allmlp.models.hybrid import Hybrid, HybridBlock
from allmlp.models.llama import State

RECIPE = 1


def packed(x_BTD: Tensor, padding_BT: Tensor) -> Tensor:
    """Every row rotated left until its left padding is at its end: (B, T, D), (B, T) bool -> (B, T, D)."""
    B, T, _ = x_BTD.shape
    rows_B1 = torch.arange(B, device=x_BTD.device)[:, None]
    from_BT = (torch.arange(T, device=x_BTD.device) + padding_BT.sum(1, keepdim=True)) % T
    return x_BTD[rows_B1, from_BT]


class RepackingBlock(HybridBlock):
    """Attention, then masked mixing of the row as attention re-packed it, added to the row as it was given.

    After p tokens of padding, text token t is at position t + p, and at row t of the re-packed row. So with a causal
    mask that starts at row 0, position t reads up to t + p: the p tokens that it must predict.
    """

    order = "after"

    def forward(self, x_BTD: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        def mix(x_BTD: Tensor) -> Tensor:
            x_BTD = self.mixing_norm(x_BTD)
            return self.mixing(x_BTD if padding_BT is None else packed(x_BTD, padding_BT))

        return self._arranged(x_BTD, lambda x: self.attention(self.norm(x), padding_BT), mix)


class HybridAsPublished(Hybrid):
    """`Hybrid` with the mixing after attention, which re-packs rows that begin with the token `pad`.

    The article retracts its gain from hybrids. Its attention library moves left padding to the right, to save work, and
    then the triangular mask of the mixing does not fit. Only left padding has this effect, short texts reach a loss of
    0, and mixing before or beside attention gains nothing (E001-10). We found no code of the hybrids. This is the
    smallest mechanism with all these effects: attention is right, the mixing after it gets the re-packed row with the
    mask and places of the padded row, and before or beside attention nothing is re-packed. Without padding on the
    left it is `Hybrid(order="after")`.
    """

    BLOCK: ClassVar[type[Block]] = RepackingBlock
    LEAKS: ClassVar[dict[str, str]] = {
        "left padding": "attention re-packs left-padded rows; the mask of the mixing after it does not follow (001-19)"
    }

    def __init__(
        self,
        n_heads: int = 4,
        d_mlp: int | None = None,
        fused: bool = True,
        pad: int | None = None,
        **sizes: Unpack[Sizes],
    ) -> None:
        super().__init__("after", n_heads, d_mlp, fused, pad, **sizes)

    def start(self, batch: int) -> State:
        """The memory before the first token. UserError with `pad`: it would read later tokens."""
        if self.padding is not None:
            raise UserError(
                f"hybrid-as-published with pad={self.padding} cannot generate: below left padding it reads tokens "
                "that are still to come. Build it without pad, or take `hybrid`"
            )
        return super().start(batch)
