"""The Linear Transformer as an image classifier, as 002 App. C compares it with BiRNs."""

from collections.abc import Callable
from typing import ClassVar

from torch import Tensor

from allmlp.models.base import Bidirectional, TokenMixer
from allmlp.models.layers import heads_join, own_precision
from allmlp.models.linear_attention import LinearAttention
from allmlp.models.transformer_classifier import TransformerClassifier

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


class LinearTransformerClassifier(TransformerClassifier):
    """`TransformerClassifier` with linear attention in place of softmax attention; the same weights."""

    MIXER: ClassVar[Callable[..., TokenMixer]] = BidirectionalLinearAttention
