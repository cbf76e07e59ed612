"""The causal relation network of 002, quadratic in the length, with the parts that its ablations remove."""

from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import parameter_error
from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.base import TokenMixer
from allmlp.models.layers import PlainNorm, check_choice, check_eps, check_positive, disable_autocast, to_float32
from allmlp.models.linear_relation import exp_over_largest, linear_causal_relation_sum, log_sums
from allmlp.models.relation import ACTIVATIONS, causal_relation_sum
from allmlp.models.rows import Rows

RECIPE = 2

PRE_NORMS = ("exact", "approximate", "none")

# all p_i so far, (B, t, D); where eq. 5 applies, how many there were and the logarithm of their sum, (B, D)
Memory = Rows | tuple[int, Tensor]


class CausalRelation(TokenMixer):
    """y_j = b_out + W_out post(1/j sum_{i<=j} psi(pre(p_i + q_j))), p = W_left x, q = W_right x + b_in.

    Equation 4 of 002. Shapes: x (B, T, D) -> (B, T, D), through `d_relation` features, D unless given (d_h in
    002). psi: exp, relu or elu. pre: LN0 of each sum ("exact"), LN0(p_i) + LN0(q_j) ("approximate") or nothing
    ("none"). post: LN0 or nothing (002-1 to 002-3). For exp without exact pre-norm eq. 5 gives the same sum in
    linear time.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        activation: str = "exp",
        pre_norm: str = "exact",
        post_norm: bool = True,
        d_relation: int | None = None,
        eps: float = 1e-5,
    ) -> None:
        super().__init__(d_model, context)
        self.d_relation = d_model if d_relation is None else d_relation
        check_positive(d_relation=self.d_relation)
        check_choice("activation", activation, ACTIVATIONS)
        check_choice("pre_norm", pre_norm, PRE_NORMS)
        if not isinstance(post_norm, bool):
            raise parameter_error("post_norm", post_norm, "it must be true or false")
        self.activation, self.pre_norm, self.post_norm, self.eps = activation, pre_norm, post_norm, eps
        self.factorises, self.bounded = activation == "exp" and pre_norm != "exact", pre_norm == "approximate"
        self.left = nn.Linear(d_model, self.d_relation, bias=False)
        self.right = nn.Linear(d_model, self.d_relation)
        self.out = nn.Linear(self.d_relation, d_model)
        self.norm = PlainNorm(eps)

    def forward(self, x_BTD: Tensor) -> Tensor:
        p_BTD, q_BTD = self._project(x_BTD)
        if self.factorises and self.post_norm:
            return self.out(self.norm(linear_causal_relation_sum(p_BTD, q_BTD, self.bounded)))
        if self.factorises:
            sums_BTD = q_BTD.exp() * p_BTD.exp().cumsum(1) if self.bounded else (q_BTD + log_sums(p_BTD)).exp()
        else:
            sums_BTD = causal_relation_sum(p_BTD, q_BTD, self.activation, self.pre_norm, self.eps)
        counts_T = torch.arange(1, x_BTD.shape[1] + 1, device=x_BTD.device, dtype=sums_BTD.dtype)
        return self._finish(sums_BTD / counts_T[:, None])

    def start(self, like_BD: Tensor) -> Memory:
        B = like_BD.shape[0]
        if self.factorises:
            return 0, like_BD.new_full((B, self.d_relation), -torch.inf)
        return Rows(like_BD.new_empty(B, 0, self.d_relation))

    def step(self, x_BD: Tensor, state: Memory) -> tuple[Tensor, Memory]:
        """One more token: in O(D) where eq. 5 applies, else in O(t D), with all p_i so far as the memory."""
        p_BD, q_BD = self._project(x_BD)
        if isinstance(state, Rows):
            p_BtD, rows = state.append(p_BD[:, None])
            z_BtD = p_BtD + q_BD[:, None]
            z_BtD = self.norm(z_BtD) if self.pre_norm == "exact" else z_BtD
            return self._finish(self._activate(z_BtD).mean(1)), rows
        t, log_sum_BD = state[0] + 1, torch.logaddexp(state[1], p_BD)
        z_BD = q_BD + log_sum_BD
        y_BD = self.out(self.norm(exp_over_largest(z_BD))) if self.post_norm else self._finish(z_BD.exp() / t)
        return y_BD, (t, log_sum_BD)

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p, q = to_float32(self.left(x), self.right(x))  # a sum of exponentials exceeds float16's range
        return (self.norm(p), self.norm(q)) if self.pre_norm == "approximate" else (p, q)

    def _activate(self, z: Tensor) -> Tensor:
        return z.exp() if self.activation == "exp" else F.relu(z) if self.activation == "relu" else F.elu(z)

    def _finish(self, mean: Tensor) -> Tensor:
        if self.post_norm:
            return self.out(self.norm(mean))
        with disable_autocast(mean):  # a mean of exponentials can exceed float16's range
            return self.out(mean)


class CausalRN(Backbone):
    """Causal relation network: pre-norm residual blocks of `CausalRelation`, nothing else (002 Sec. 2).

    The paper's size, d_model 192 and 12 blocks, has 1,337,280 weights in blocks and head (002-10).
    """

    family: ClassVar[str] = "all-MLP"

    def __init__(
        self,
        activation: str = "exp",
        pre_norm: str = "exact",
        post_norm: bool = True,
        d_relation: int | None = None,
        eps: float = 1e-5,
        **sizes: Unpack[Sizes],
    ) -> None:
        check_eps(eps)
        mixer = partial(
            CausalRelation,
            activation=activation,
            pre_norm=pre_norm,
            post_norm=post_norm,
            d_relation=d_relation,
            eps=eps,
        )
        super().__init__(mixer=mixer, norm=partial(PlainNorm, eps), **sizes)
