"""Transformers with softmax and linear attention as image classifiers, as 002 App. C compares them with BiRNs."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Unpack

from torch import Tensor

from allmlp.models.attention import SoftmaxAttention, transformer_parts
from allmlp.models.base import BidirectionalMixer, TokenMixer
from allmlp.models.layers import disable_autocast, join_heads
from allmlp.models.linear_attention import LinearAttention
from allmlp.models.patches import PatchClassifier, PatchSizes

RECIPE = 1


class TransformerClassifier(PatchClassifier):
    """The blocks of `Transformer`, where every patch sees every other and CLS."""

    family: ClassVar[str] = "attention"
    MIXER: ClassVar[Callable[..., TokenMixer]] = partial(SoftmaxAttention, causal=False)

    def __init__(
        self,
        n_heads: int = 1,
        d_mlp: int | None = None,
        eps: float = 1e-5,
        embedding_bias: bool = True,
        embedding_std: float | None = None,
        **sizes: Unpack[PatchSizes],
    ) -> None:
        parts = transformer_parts(type(self).MIXER, sizes["d_model"], n_heads, d_mlp, eps)
        super().__init__(embedding_bias=embedding_bias, embedding_std=embedding_std, **parts, **sizes)


class BidirectionalLinearAttention(BidirectionalMixer, LinearAttention):
    """y_j = W_out [phi(q_j)^T sum over all i of phi(k_i) v_i^T] / [phi(q_j)^T sum over all i of phi(k_i)].

    phi = elu + 1. Shapes: x (B, T, D) -> (B, T, D), head by head. O(T); the weights are those of `LinearAttention`.
    """

    def forward(self, x_BTD: Tensor) -> Tensor:
        q, k, v = self._project(x_BTD)
        with disable_autocast(q):  # as `LinearAttention`: sums over all positions exceed half precision
            y = q @ (k.mT @ v) / (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
        return self.out(join_heads(y))


class LinearTransformerClassifier(TransformerClassifier):
    """`TransformerClassifier` with linear attention in place of softmax attention; the same weights."""

    MIXER: ClassVar[Callable[..., TokenMixer]] = BidirectionalLinearAttention
