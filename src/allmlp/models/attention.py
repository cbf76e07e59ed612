"""Softmax attention and the Transformer of 002."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Unpack

from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.base import TokenMixer
from allmlp.models.layers import FeedForward, PlainNorm, check_eps, check_heads, join_heads, mlp_width, split_heads
from allmlp.models.ragged import RaggedLayout
from allmlp.models.rows import Rows

RECIPE = 1

Cache = tuple[Rows, Rows]  # keys and values so far, (B, H, t, K) each


class SoftmaxAttention(TokenMixer):
    """y_j = W_out sum over i of softmax_i(q_j . k_i / sqrt(K)) v_i, over i <= j where causal, head by head.

    Shapes: x (B, T, D) -> (B, T, D), K = D / n_heads. `causal=False` lets every position see all. A subclass overrides
    `_attend`, which `forward` and `mix_rows` share.
    """

    def __init__(
        self, d_model: int, context: int, *, n_heads: int = 1, bias: bool = False, causal: bool = True
    ) -> None:
        super().__init__(d_model, context)
        check_heads(d_model, n_heads)
        self.n_heads, self.causal = n_heads, causal
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.out(self._attend(self.qkv(x_BTD)))

    def mix_rows(self, x_ND: Tensor, ragged: RaggedLayout) -> Tensor:
        return self.out(ragged.rows(self._attend(ragged.lay_out_rows(self.qkv(x_ND)))))

    def start(self, like_BD: Tensor) -> Cache:
        empty = like_BD.new_empty(like_BD.shape[0], self.n_heads, 0, self.d_model // self.n_heads)
        return Rows(empty), Rows(empty)

    def step(self, x_BD: Tensor, state: Cache) -> tuple[Tensor, Cache]:
        """One more token in O(t D): the new query looks at all keys so far."""
        q, k, v = self._heads(self.qkv(x_BD[:, None]))
        (k, keys), (v, values) = state[0].append(k), state[1].append(v)
        return self.out(join_heads(F.scaled_dot_product_attention(q, k, v))[:, 0]), (keys, values)

    def _attend(self, qkv_BTE: Tensor) -> Tensor:
        q, k, v = self._heads(qkv_BTE)
        return join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal))

    def _heads(self, qkv_BTE: Tensor) -> list[Tensor]:
        return [split_heads(part, self.n_heads) for part in qkv_BTE.chunk(3, dim=-1)]


def transformer_parts(
    mixer: Callable[..., TokenMixer], d_model: int, n_heads: int, d_mlp: int | None, eps: float
) -> dict[str, Any]:
    """The blocks of 002's Transformer, as `Backbone` takes them. d_mlp: 4 d_model unless given."""
    check_heads(d_model, n_heads)
    check_eps(eps)
    return {
        "mixer": partial(mixer, n_heads=n_heads),
        "norm": partial(PlainNorm, eps),
        "feed_forward": partial(FeedForward, d_model, mlp_width(d_model, d_mlp)),
    }


class Transformer(Backbone):
    """Pre-norm Transformer: no affine norms, no attention biases, GELU MLP of 4 x with biases (002 App. D).

    The paper's size, d_model 192 and 12 blocks of one head, has 5,325,504 weights in blocks and head
    (002-10).
    """

    family: ClassVar[str] = "attention"
    MIXER: ClassVar[Callable[..., TokenMixer]] = SoftmaxAttention

    def __init__(self, n_heads: int = 1, d_mlp: int | None = None, eps: float = 1e-5, **sizes: Unpack[Sizes]) -> None:
        super().__init__(**transformer_parts(type(self).MIXER, sizes["d_model"], n_heads, d_mlp, eps), **sizes)
