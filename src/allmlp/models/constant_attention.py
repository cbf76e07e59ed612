"""The one-layer transformer of 003: attention is 1/2 everywhere, so that its ReLU MLP does all the work."""

import math
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import parameter_error
from allmlp.models.base import SequenceModel
from allmlp.models.layers import check_heads, check_positive

RECIPE = 1


class ConstantAttention(SequenceModel):
    """Two tokens x, y below p -> logits (B, p) at the second, for (x + y) mod p (003 Sec. 2).

    r = E_y + 1/2 sum_heads (E_x + E_y) W_V W_O with E_t = W_E[t] + W_pos; logits = (r + ReLU(r W_in + b_in)
    W_out + b_out) W_U. No norm. W_Q and W_K exist and are counted, 212,608 weights at p 59, but with every
    attention weight 1/2 they take no part and get no gradient. The attention's and unembedding's biases,
    frozen at zero in the original, are absent. Matrices N(0, 0.8 / sqrt(d_model)), biases zero.

    `r` is a function of x plus a function of y. So all matrix products but the last are taken on tables of p
    rows and not on all pairs, and the last one on W_out W_U: (B, d_mlp) x (d_mlp, p).
    """

    predicts: ClassVar[Literal["all", "last"]] = "last"
    family: ClassVar[str] = "all-MLP"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "W_E", "positions": "W_pos", "unembedding": "W_U"}

    def __init__(
        self, vocabulary: int, d_model: int = 128, n_heads: int = 4, d_mlp: int = 512, context: int = 2
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, d_mlp=d_mlp)
        check_heads(d_model, n_heads)
        if context != 2:
            raise parameter_error("context", context, "constant-attention adds two tokens, so its context is 2")
        self.vocabulary, self.context = vocabulary, context

        def matrix(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape) * (0.8 / math.sqrt(d_model)))

        heads, K = n_heads, d_model // n_heads
        self.W_E, self.W_pos = matrix(vocabulary, d_model), matrix(2, d_model)
        self.W_Q, self.W_K, self.W_V = (matrix(heads, d_model, K) for _ in range(3))
        self.W_O = matrix(heads, K, d_model)
        self.W_in, self.b_in = matrix(d_model, d_mlp), nn.Parameter(torch.zeros(d_mlp))
        self.W_out, self.b_out = matrix(d_mlp, d_model), nn.Parameter(torch.zeros(d_model))
        self.W_U = matrix(d_model, vocabulary)

    def residual_tables(self) -> tuple[Tensor, Tensor]:
        """The contributions of each token to the residual stream before the MLP, as first and as second token: (p, D)
        each."""
        attended = 0.5 * torch.einsum("hdk,hke->de", self.W_V, self.W_O)
        second = self.W_E + self.W_pos[1]
        return (self.W_E + self.W_pos[0]) @ attended, second + second @ attended

    def hidden(self, tokens_B2: Tensor) -> Tensor:
        """The residual stream after the MLP at the second token, (B, D)."""
        first, second = self.residual_tables()
        r_BD = _rows_sum(first, second, tokens_B2)
        return r_BD + F.relu(r_BD @ self.W_in + self.b_in) @ self.W_out + self.b_out

    def forward(self, tokens_B2: Tensor) -> Tensor:
        self.check_length(tokens_B2.shape[1], exactly=True)
        first, second = self.residual_tables()
        neurons_BM = _rows_sum(first @ self.W_in, second @ self.W_in + self.b_in, tokens_B2).relu_()
        skip_BV = _rows_sum(first @ self.W_U, (second + self.b_out) @ self.W_U, tokens_B2)
        return torch.addmm(skip_BV, neurons_BM, self.W_out @ self.W_U)


def _rows_sum(first: Tensor, second: Tensor, tokens_B2: Tensor) -> Tensor:
    """first[x] + second[y] for each pair. The gradient of `embedding` adds rows in a fixed order on a CPU."""
    return F.embedding(tokens_B2[:, 0], first).add_(F.embedding(tokens_B2[:, 1], second))
