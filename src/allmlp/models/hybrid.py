"""Llama with masked mixing beside its attention: 001's hybrids of transformer and mixer."""

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

from torch import Tensor, nn

from allmlp.models.backbone import Block, Norm, Sizes
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_choice
from allmlp.models.llama import RopeBackbone, RopeBlock
from allmlp.models.masked_mixing import Mixing

RECIPE = 1
ORDERS = ("before", "beside", "after")
Branch = Callable[[Tensor], Tensor]


class HybridBlock(RopeBlock):
    """A block of Llama with one more residual branch, masked mixing of all tokens, padding among them.

    order "before": x + mixing(norm(x)), then x + attention(norm'(x)); "after": the other way round; "beside": x + both.
    """

    order = "before"

    def __init__(self, mixer: TokenMixer, feed_forward: nn.Module | None, norm: Norm) -> None:
        super().__init__(mixer, feed_forward, norm)
        self.mixing, self.mixing_norm = Mixing(mixer.d_model, mixer.context), norm()

    def forward(self, x_BTD: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        return self._arranged(
            x_BTD, lambda x: self.attention(self.norm(x), padding_BT), lambda x: self.mixing(self.mixing_norm(x))
        )

    def start(self, like_BD: Tensor) -> Any:
        return {"attention": self.attention.start(like_BD), "mixing": self.mixing.start(like_BD)}

    def step(self, x_BD: Tensor, state: Any, padding_BT: Tensor | None = None) -> tuple[Tensor, Any]:
        after: dict[str, Any] = {}

        def attend(x_BD: Tensor) -> Tensor:
            y_BD, after["attention"] = self.attention.step(self.norm(x_BD), state["attention"], padding_BT)
            return y_BD

        def mix(x_BD: Tensor) -> Tensor:
            y_BD, after["mixing"] = self.mixing.step(self.mixing_norm(x_BD), state["mixing"])
            return y_BD

        return self._arranged(x_BD, attend, mix), after

    def _arranged(self, x: Tensor, attend: Branch, mix: Branch) -> Tensor:
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
