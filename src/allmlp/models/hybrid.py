"""Llama with masked mixing beside its attention: 001's hybrids of transformer and mixer, repaired and as published."""

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from allmlp.common.errors import UserError
from allmlp.models.backbone import Block, Given, Norm, Sizes, State, ragged_layout
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_choice
from allmlp.models.llama import RopeBackbone
from allmlp.models.masked_mixing import Mixing

RECIPE = 1
ORDERS = ("before", "beside", "after")
Branch = Callable[[Tensor], Tensor]


class HybridBlock(Block):
    """A block of Llama with one more residual branch, masked mixing of all tokens, padding among them.

    order "before": x + mixing(norm(x)), then x + attention(norm'(x)); "after": the other way round; "beside": x + both.
    """

    order = "before"

    def __init__(self, mixer: TokenMixer, feed_forward: nn.Module | None, norm: Norm) -> None:
        super().__init__(mixer, feed_forward, norm)
        self.mixing, self.mixing_norm = Mixing(mixer.d_model, mixer.context), norm()

    def forward(self, x: Tensor, *given: Given) -> Tensor:
        return self._apply_branches(x, lambda x: self._mix(x, *given), lambda x: self._mix_tokens(x, *given))

    def start(self, like_BD: Tensor) -> Any:
        return {"attention": self.mixer.start(like_BD), "mixing": self.mixing.start(like_BD)}

    def step(self, x_BD: Tensor, state: Any, *given: Tensor | None) -> tuple[Tensor, Any]:
        after: dict[str, Any] = {}

        def attend(x_BD: Tensor) -> Tensor:
            y_BD, after["attention"] = self.mixer.step(self.norm(x_BD), state["attention"], *given)
            return y_BD

        def mix(x_BD: Tensor) -> Tensor:
            y_BD, after["mixing"] = self.mixing.step(self.mixing_norm(x_BD), state["mixing"])
            return y_BD

        return self._apply_branches(x_BD, attend, mix), after

    def _mix_tokens(self, x: Tensor, *given: Given) -> Tensor:
        ragged, x = ragged_layout(given), self.mixing_norm(x)
        return self.mixing.mix_rows(x, ragged) if ragged else self.mixing(x)

    def _apply_branches(self, x: Tensor, attend: Branch, mix: Branch) -> Tensor:
        if self.order == "beside":
            return self._feed(x + attend(x) + mix(x))
        for branch in (mix, attend) if self.order == "before" else (attend, mix):
            x = x + branch(x)
        return self._feed(x)


class Hybrid(RopeBackbone):
    """`Llama` with masked mixing before, beside or after the attention of each block (001-19, E001-10).

    Embeddings are N(0, 1): with Llama's 0.02 the mixed tokens outweigh a position's own. `pad`: leading tokens of this
    id are not attended. The mixing reads them, as its weights belong to positions: more padding alters predictions.
    """

    BLOCK: ClassVar[type[Block]] = HybridBlock

    def __init__(
        self,
        order: str = "before",
        n_heads: int = 4,
        d_mlp: int | None = None,
        fused: bool = True,
        pad: int | None = None,
        **sizes: Unpack[Sizes],
    ) -> None:
        check_choice("order", order, ORDERS)
        super().__init__(n_heads=n_heads, d_mlp=d_mlp, fused=fused, padding=pad, embedding_std=1.0, **sizes)
        for block in self.blocks:
            assert isinstance(block, HybridBlock)
            block.order = order


def repack_rows(x_BTD: Tensor, padding_BT: Tensor) -> Tensor:
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

    def _mix_tokens(self, x: Tensor, *given: Given) -> Tensor:
        if given and isinstance(given[0], Tensor):
            return self.mixing(repack_rows(self.mixing_norm(x), given[0]))
        return super()._mix_tokens(x, *given)


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
