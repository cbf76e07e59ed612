"""The bidirectional relation networks of 002 App. C as image classifiers: quadratic and linear in the patches."""

from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.base import BidirectionalMixer
from allmlp.models.layers import PlainNorm, check_eps, check_positive, to_float32
from allmlp.models.linear_relation import exp_over_largest
from allmlp.models.patches import PatchClassifier, PatchSizes
from allmlp.models.relation import causal_relation_sum

RECIPE = 1


class BidirectionalRelation(BidirectionalMixer):
    """y_j = b_out + W_out LN0(1/T sum over all i of exp(LN0(p_i + q_j))), p = W_left x, q = W_right x + b_in.

    Equation 6 of 002 with the exact pre-activation norm of its equation 4. Shapes: x (B, T, D) -> (B, T, D), through
    d_relation features, 4 D unless given, as published: then a block has the 12 D^2 weights of a Transformer's.
    """

    def __init__(self, d_model: int, context: int, *, d_relation: int | None = None, eps: float = 1e-5) -> None:
        super().__init__(d_model, context)
        d_relation = 4 * d_model if d_relation is None else d_relation
        check_positive(d_relation=d_relation)
        self.left = nn.Linear(d_model, d_relation, bias=False)
        self.right = nn.Linear(d_model, d_relation)
        self.out = nn.Linear(d_relation, d_model)
        self.norm = PlainNorm(eps)

    def forward(self, x_BTD: Tensor) -> Tensor:
        sums_BTD = relation_sum(self.left(x_BTD), self.right(x_BTD), self.norm.eps)
        return self.out(self.norm(sums_BTD / x_BTD.shape[1]))

    def pair_values(self, x_BTD: Tensor, j: int) -> Tensor:
        """exp(LN0(p_i + q_j)) of every position i with position j: (B, T, D_relation) (002 Fig. 8)."""
        return self.norm(self.left(x_BTD) + self.right(x_BTD[:, j, None])).exp()


class BiRN(PatchClassifier):
    """Bidirectional relation network: pre-norm residual blocks of `BidirectionalRelation`, nothing else."""

    family: ClassVar[str] = "all-MLP"
    MIXER: ClassVar[type[BidirectionalRelation]] = BidirectionalRelation

    def __init__(
        self,
        d_relation: int | None = None,
        eps: float = 1e-5,
        embedding_bias: bool = True,
        embedding_std: float | None = None,
        **sizes: Unpack[PatchSizes],
    ) -> None:
        check_eps(eps)
        mixer, norm = partial(type(self).MIXER, d_relation=d_relation, eps=eps), partial(PlainNorm, eps)
        super().__init__(mixer=mixer, norm=norm, embedding_bias=embedding_bias, embedding_std=embedding_std, **sizes)


def relation_sum(p_BTD: Tensor, q_BTD: Tensor, eps: float) -> Tensor:
    """y_j = sum over all i of exp(LN0(p_i + q_j)): (B, T, D), (B, T, D) -> (B, T, D), not divided by T (002 eq. 6).

    It is a causal sum over earlier tokens plus one over later tokens (the reversed sequence), in one batch. Both hold
    the pair of a token with itself, which is subtracted: all terms are positive, so nothing cancels. Memory is
    O(B T D + B T^2), of which O(B T D) is kept for the backward pass. Single precision for halves.
    """
    p_BTD, q_BTD = to_float32(p_BTD, q_BTD)
    p_2BTD, q_2BTD = torch.cat([p_BTD, p_BTD.flip(1)]), torch.cat([q_BTD, q_BTD.flip(1)])
    before_BTD, after_BTD = causal_relation_sum(p_2BTD, q_2BTD, "exp", "exact", eps).chunk(2)
    own_BTD = F.layer_norm(p_BTD + q_BTD, p_BTD.shape[-1:], eps=eps).exp()
    return before_BTD + after_BTD.flip(1) - own_BTD


def linear_relation_sum(p_BTD: Tensor, q_BTD: Tensor) -> Tensor:
    """sum over all i of exp(p_i + q_j), each position divided by its largest feature, in O(T) (002, Fig. 5, eq. 6).

    s_j = q_j + log sum over i of exp(p_i), by the largest p_i of each feature, then exp(s_j - max over features): the
    factor per position does not outlive the post-reduction norm, so nothing overflows (002-6, exact with its eps 0).
    """
    return exp_over_largest(q_BTD + p_BTD.logsumexp(1, keepdim=True))


class LinearBidirectionalRelation(BidirectionalRelation):
    """y_j = b_out + W_out LN0(exp(LN0(q_j)) * sum over all i of exp(LN0(p_i))), p = W_left x, q = W_right x + b_in.

    Equation 6 of 002 with the approximate pre-activation norm, as in Figure 5: O(T). Shapes and weights as in
    `BidirectionalRelation`.
    """

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.out(self.norm(linear_relation_sum(self.norm(self.left(x_BTD)), self.norm(self.right(x_BTD)))))

    def pair_values(self, x_BTD: Tensor, j: int) -> Tensor:
        """exp(LN0(p_i) + LN0(q_j)) of every position i with position j: (B, T, D_relation) (002 Fig. 8)."""
        return (self.norm(self.left(x_BTD)) + self.norm(self.right(x_BTD[:, j, None]))).exp()


class LinearBiRN(BiRN):
    """Linear bidirectional relation network; weights as in `BiRN`."""

    MIXER: ClassVar[type[BidirectionalRelation]] = LinearBidirectionalRelation
