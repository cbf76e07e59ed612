"""The reduction of bidirectional relation networks: a sum over all pairs, earlier and later (002, eq. 6).

The sums over earlier and over later tokens are two causal sums, the second over the reversed sequence. Both hold the
pair of a token with itself. So memory, blocks, kernels and hand-written gradients are those of `relation`.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.models.layers import in_single_precision
from allmlp.models.linear_relation import exp_over_largest
from allmlp.models.relation import causal_relation_sum


def relation_sum(p_BTD: Tensor, q_BTD: Tensor, eps: float) -> Tensor:
    """y_j = sum over all i of exp(LN0(p_i + q_j)): (B, T, D), (B, T, D) -> (B, T, D), not divided by T.

    Memory is O(B T D + B T^2), of which O(B T D) is kept for the backward pass. Both directions are one batch. Single
    precision for halves. Every term is positive and the pair subtracted is in the sum, so nothing cancels.
    """
    p_BTD, q_BTD = in_single_precision(p_BTD, q_BTD)
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
