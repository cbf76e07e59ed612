"""The Linear Transformer as an image classifier, as 002 App. C compares it with BiRNs."""

from functools import partial
from typing import ClassVar

from torch import Tensor

from allmlp.models.base import Bidirectional
from allmlp.models.layers import (
    FeedForward,
    PlainNorm,
    check_eps,
    check_heads,
    check_positive,
    heads_join,
    own_precision,
)
from allmlp.models.linear_attention import LinearAttention
from allmlp.models.patches import PatchClassifier

RECIPE = 1


class BidirectionalLinearAttention(Bidirectional, LinearAttention):
    """y_j = W_out [phi(q_j)^T sum over all i of phi(k_i) v_i^T] / [phi(q_j)^T sum over all i of phi(k_i)].

    phi = elu + 1. Shapes: x (B, T, D) -> (B, T, D), head by head. O(T); the weights are those of `LinearAttention`.
    """

    def forward(self, x_BTD: Tensor) -> Tensor:
        q, k, v = self._project(x_BTD)
        with own_precision(q):  # as `LinearAttention`: sums over all positions exceed half precision
            y = q @ (k.mT @ v) / (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
        return self.out(heads_join(y))


class LinearTransformerClassifier(PatchClassifier):
    """`TransformerClassifier` with linear attention in place of softmax attention; the same weights."""

    family: ClassVar[str] = "attention"

    def __init__(
        self,
        vocabulary: int,
        context: int,
        features: int,
        d_model: int,
        n_blocks: int,
        n_heads: int = 1,
        d_mlp: int | None = None,
        eps: float = 1e-5,
    ) -> None:
        check_heads(d_model, n_heads)
        check_eps(eps)
        d_mlp = 4 * d_model if d_mlp is None else d_mlp
        check_positive(d_mlp=d_mlp)
        super().__init__(
            vocabulary,
            context,
            features,
            d_model,
            n_blocks,
            mixer=partial(BidirectionalLinearAttention, n_heads=n_heads),
            norm=partial(PlainNorm, eps),
            feed_forward=partial(FeedForward, d_model, d_mlp),
        )
