"""The linear causal relation network of 002: a memory of fixed size."""

from typing import Unpack

from allmlp.models.backbone import Sizes
from allmlp.models.causal_rn import CausalRN

RECIPE = 1


class LinearCausalRN(CausalRN):
    """`CausalRN` with y_j = b_out + W_out LN0(exp(LN0(q_j)) * sum_{i<=j} exp(LN0(p_i))) in each block.

    Equation 5 of 002 with the approximate pre-activation norm that all its reported linear runs have (E002-4). O(T) to
    train, O(1) a token to generate (002-11). The same weights, 1,337,280 at the paper's size (002-10).
    """

    def __init__(self, d_relation: int | None = None, eps: float = 1e-5, **sizes: Unpack[Sizes]) -> None:
        super().__init__(pre_norm="approximate", d_relation=d_relation, eps=eps, **sizes)
