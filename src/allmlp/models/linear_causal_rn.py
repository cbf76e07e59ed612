"""The linear causal relation network of 002: a memory of fixed size."""

from functools import partial
from typing import ClassVar, Unpack

from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.layers import PlainNorm, check_eps

RECIPE = 1


class LinearCausalRelation(CausalRelation):
    """y_j = b_out + W_out LN0(exp(LN0(q_j)) * sum_{i<=j} exp(LN0(p_i))), p = W_left x, q = W_right x + b_in.

    Equation 5 of 002 with the approximate pre-activation norm that all its reported linear runs have
    (E002-4). Shapes: x (B, T, D) -> (B, T, D), through `d_relation` features, D unless given (d_h in 002). O(T) to
    train, O(1) a token to generate (002-11).
    """

    def __init__(self, d_model: int, context: int, *, d_relation: int | None = None, eps: float = 1e-5) -> None:
        super().__init__(d_model, context, pre_norm="approximate", d_relation=d_relation, eps=eps)


class LinearCausalRN(Backbone):
    """Linear causal relation network; weights as in `CausalRN`, 1,337,280 at the paper's size (002-10)."""

    family: ClassVar[str] = "all-MLP"

    def __init__(self, d_relation: int | None = None, eps: float = 1e-5, **sizes: Unpack[Sizes]) -> None:
        check_eps(eps)
        super().__init__(
            mixer=partial(LinearCausalRelation, d_relation=d_relation, eps=eps), norm=partial(PlainNorm, eps), **sizes
        )
