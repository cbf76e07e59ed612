"""The linear causal relation network of 002: a memory of fixed size."""

from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.base import TokenMixer
from allmlp.models.layers import PlainNorm, check_eps, check_positive, in_single_precision
from allmlp.models.linear_relation import exp_over_largest, linear_causal_relation_sum

RECIPE = 1


class LinearCausalRelation(TokenMixer):
    """y_j = b_out + W_out LN0(exp(LN0(q_j)) * sum_{i<=j} exp(LN0(p_i))), p = W_left x, q = W_right x + b_in.

    Equation 5 of 002 with the approximate pre-activation norm that all its reported linear runs have
    (E002-4). Shapes: x (B, T, D) -> (B, T, D), through `d_relation` features, D unless given (d_h in 002). O(T) to
    train, O(1) a token to generate (002-11).
    """

    def __init__(self, d_model: int, context: int, *, d_relation: int | None = None, eps: float = 1e-5) -> None:
        super().__init__(d_model, context)
        self.d_relation = d_model if d_relation is None else d_relation
        check_positive(d_relation=self.d_relation)
        self.left = nn.Linear(d_model, self.d_relation, bias=False)
        self.right = nn.Linear(d_model, self.d_relation)
        self.out = nn.Linear(self.d_relation, d_model)
        self.norm = PlainNorm(eps)

    def forward(self, x_BTD: Tensor) -> Tensor:
        p_BTD, q_BTD = self._project(x_BTD)
        return self.out(self.norm(linear_causal_relation_sum(p_BTD, q_BTD, bounded=True)))

    def start(self, like_BD: Tensor) -> Tensor:
        return like_BD.new_full((like_BD.shape[0], self.d_relation), -torch.inf)

    def step(self, x_BD: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One more token: the memory is the logarithm of the sum so far, (B, D)."""
        p_BD, q_BD = self._project(x_BD)
        log_sum_BD = torch.logaddexp(state, p_BD)
        return self.out(self.norm(exp_over_largest(q_BD + log_sum_BD))), log_sum_BD

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p, q = in_single_precision(self.left(x), self.right(x))
        return self.norm(p), self.norm(q)


class LinearCausalRN(Backbone):
    """Linear causal relation network; weights as in `CausalRN`, 1,337,280 at the paper's size (002-10)."""

    causal: ClassVar[bool] = True
    family: ClassVar[str] = "all-MLP"

    def __init__(self, d_relation: int | None = None, eps: float = 1e-5, **sizes: Unpack[Sizes]) -> None:
        check_eps(eps)
        super().__init__(
            mixer=partial(LinearCausalRelation, d_relation=d_relation, eps=eps), norm=partial(PlainNorm, eps), **sizes
        )
