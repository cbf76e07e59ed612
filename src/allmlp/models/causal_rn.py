"""The causal relation network of 002, quadratic in the length, with the parts that its ablations remove."""

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.errors import UserError
from allmlp.models.backbone import Backbone
from allmlp.models.base import TokenMixer
from allmlp.models.layers import PlainNorm, check_choice, check_eps
from allmlp.models.relation import (
    ACTIVATIONS,
    causal_relation_sum,
    exp_over_largest,
    linear_causal_relation_sum,
)

RECIPE = 2

PRE_NORMS = ("exact", "approximate", "none")


class CausalRelation(TokenMixer):
    """y_j = b_out + W_out post(1/j sum_{i<=j} psi(pre(p_i + q_j))), p = W_left x, q = W_right x + b_in.

    Equation 4 of 002. Shapes: x (B, T, D) -> (B, T, D). psi: exp, relu or elu. pre: LN0 of each sum
    ("exact"), LN0(p_i) + LN0(q_j) ("approximate") or nothing ("none"); post: LN0, or nothing (002-1 to
    002-3). Where eq. 5 applies, to exp without exact pre-norm, the same sum is taken in linear time.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        activation: str = "exp",
        pre_norm: str = "exact",
        post_norm: bool = True,
        eps: float = 1e-5,
    ) -> None:
        super().__init__(d_model, context)
        check_choice("activation", activation, ACTIVATIONS)
        check_choice("pre_norm", pre_norm, PRE_NORMS)
        if not isinstance(post_norm, bool):
            raise UserError(f"post_norm={post_norm!r}: it must be true or false")
        self.activation, self.pre_norm, self.post_norm, self.eps = activation, pre_norm, post_norm, eps
        self.factorises = activation == "exp" and pre_norm != "exact"
        self.left = nn.Linear(d_model, d_model, bias=False)
        self.right = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)
        self.norm = PlainNorm(eps)

    def forward(self, x_BTD: Tensor) -> Tensor:
        p_BTD, q_BTD = self._project(x_BTD)
        if self.factorises and self.post_norm:
            return self.out(self.norm(linear_causal_relation_sum(p_BTD, q_BTD, self.pre_norm == "approximate")))
        if self.factorises:
            sums_BTD = q_BTD.exp() * p_BTD.exp().cumsum(1)
        else:
            sums_BTD = causal_relation_sum(p_BTD, q_BTD, self.activation, self.pre_norm, self.eps)
        counts_T = torch.arange(1, x_BTD.shape[1] + 1, device=x_BTD.device, dtype=sums_BTD.dtype)
        return self._finish(sums_BTD / counts_T[:, None])

    def start(self, like_BD: Tensor) -> Tensor:
        return like_BD.new_empty(like_BD.shape[0], 0, self.d_model)

    def step(self, x_BD: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One more token in O(t D): the memory is all p_i so far, (B, t, D), like a key-value cache."""
        p_BD, q_BD = self._project(x_BD)
        p_BtD = torch.cat([state, p_BD[:, None]], dim=1)
        if self.factorises and self.post_norm:
            return self.out(self.norm(exp_over_largest(q_BD + p_BtD.logsumexp(1)))), p_BtD
        z_BtD = p_BtD + q_BD[:, None]
        return self._finish(self._activate(self.norm(z_BtD) if self.pre_norm == "exact" else z_BtD).mean(1)), p_BtD

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p, q = self.left(x), self.right(x)
        return (self.norm(p), self.norm(q)) if self.pre_norm == "approximate" else (p, q)

    def _activate(self, z: Tensor) -> Tensor:
        return z.exp() if self.activation == "exp" else F.relu(z) if self.activation == "relu" else F.elu(z)

    def _finish(self, mean: Tensor) -> Tensor:
        if self.post_norm:
            return self.out(self.norm(mean))
        with torch.autocast(mean.device.type, enabled=False):  # a mean of exponentials can exceed float16's range
            return self.out(mean)


class CausalRN(Backbone):
    """Causal relation network: pre-norm residual blocks of `CausalRelation`, nothing else (002 Sec. 2).

    The paper's size, d_model 192 and 12 blocks, has 1,337,280 weights in blocks and head (002-10).
    """

    causal: ClassVar[bool] = True
    family: ClassVar[str] = "all-MLP"

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        n_blocks: int,
        activation: str = "exp",
        pre_norm: str = "exact",
        post_norm: bool = True,
        eps: float = 1e-5,
    ) -> None:
        check_eps(eps)
        mixer = partial(CausalRelation, activation=activation, pre_norm=pre_norm, post_norm=post_norm, eps=eps)
        super().__init__(vocabulary, context, d_model, n_blocks, mixer=mixer, norm=partial(PlainNorm, eps))
