"""Llama as 001 compares it, and the backbone that its hybrids with masked mixing share."""

import math
from dataclasses import replace
from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import UserError, parameter_error
from allmlp.models.attention import Cache, SoftmaxAttention
from allmlp.models.backbone import Backbone, Given, Sizes, State
from allmlp.models.layers import join_heads, mlp_width

RECIPE = 1


def left_padding(tokens_BT: Tensor, pad: int | None) -> Tensor | None:
    """Where a row begins with the token `pad`, up to its first other token: (B, T) bool; None without a `pad`."""
    return None if pad is None else (tokens_BT != pad).cumsum(1) == 0


class RopeAttention(SoftmaxAttention):
    """y_j = W_out sum over i <= j of softmax_i(R_j q_j . R_i k_i / sqrt(K)) v_i, head by head, without biases.

    R_t turns features f and f + K/2 of a head by the angle t base^(-2f/K) (RoFormer; Llama), so a score depends on
    j - i alone. Shapes: x (B, T, D) -> (B, T, D), K = D / n_heads, even. Only padding reads padding,
    (B, T) bool. `fused=False` computes the T x T softmax explicitly, as memory tables compare it (001-14).
    """

    def __init__(self, d_model: int, context: int, *, n_heads: int = 4, fused: bool = True, base: float = 1e4) -> None:
        super().__init__(d_model, context, n_heads=n_heads)
        K = d_model // n_heads
        if K % 2:
            raise parameter_error(
                "n_heads", n_heads, f"gives heads of {K} features; rotary positions need an even number"
            )
        if not isinstance(fused, bool):
            raise parameter_error("fused", fused, "it must be true or false")
        self.fused = fused
        rate_F = base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
        angle_TF = torch.arange(context, dtype=torch.float64)[:, None] * rate_F
        self.register_buffer("cosine", angle_TF.cos(), persistent=False)
        self.register_buffer("sine", angle_TF.sin(), persistent=False)

    def forward(self, x_BTD: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        return self.out(self._attend(self.qkv(x_BTD), padding_BT))

    def step(self, x_BD: Tensor, state: Cache, padding_BT: Tensor | None = None) -> tuple[Tensor, Cache]:
        """One more token in O(t D + D^2). padding (B, t): of all tokens so far, this one included."""
        q, k, v = self._rotate_queries_keys(self.qkv(x_BD[:, None]), first=state[0].length)
        (k, keys), (v, values) = state[0].append(k), state[1].append(v)
        allowed: Tensor | None = None
        if padding_BT is not None:
            own_T = torch.arange(k.shape[-2], device=k.device) == k.shape[-2] - 1
            allowed = (~padding_BT | own_T)[:, None, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.out(join_heads(y)[:, 0]), (keys, values)

    def _attend(self, qkv_BTE: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        q, k, v = self._rotate_queries_keys(qkv_BTE, first=0)
        T = qkv_BTE.shape[1]
        allowed: Tensor | None = None
        if padding_BT is not None:  # padding attends to itself: a softmax over no position would be NaN
            own_TT = torch.eye(T, dtype=torch.bool, device=q.device)
            allowed = (~padding_BT[:, None, None] & own_TT.new_ones(T, T).tril()) | own_TT
        elif not self.fused:
            allowed = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
        return join_heads(self._read(q, k, v, allowed))

    def _rotate_queries_keys(self, qkv_BTE: Tensor, first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Turned queries and keys, and values, of tokens at positions `first` and after."""
        q, k, v = self._heads(qkv_BTE)
        return self._rotate(q, first), self._rotate(k, first), v

    def _rotate(self, z_BHTK: Tensor, first: int) -> Tensor:
        at = slice(first, first + z_BHTK.shape[-2])
        cos_TF, sin_TF = (self.get_buffer(name)[at].to(z_BHTK.dtype) for name in ("cosine", "sine"))
        a, b = z_BHTK.chunk(2, dim=-1)
        return torch.cat([a * cos_TF - b * sin_TF, b * cos_TF + a * sin_TF], dim=-1)

    def _read(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, is_causal=allowed is None)
        assert allowed is not None
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~allowed, -math.inf)
        return scores.softmax(dim=-1).to(v.dtype) @ v


class SwiGLU(nn.Module):
    """W_out (SiLU(W_gate x) * W_up x) for each token alone, without biases: (..., D) -> (..., D)."""

    def __init__(self, d_model: int, d_mlp: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_mlp, bias=False)
        self.up = nn.Linear(d_model, d_mlp, bias=False)
        self.out = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.silu(self.gate(x)) * self.up(x))


class RopeBackbone(Backbone):
    """Pre-norm blocks of RoPE attention and SwiGLU with RMSNorm; tokens `padding` on the left are not attended.

    No biases, no position embedding, untied unembedding; linear maps N(0, 0.02), embeddings N(0, embedding_std).
    """

    family: ClassVar[str] = "attention"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight", "unembedding": "unembedding.weight"}

    def __init__(
        self,
        *,
        n_heads: int,
        d_mlp: int | None,
        fused: bool,
        padding: int | None,
        embedding_std: float,
        **sizes: Unpack[Sizes],
    ) -> None:
        d_model = sizes["d_model"]
        width = mlp_width(d_model, d_mlp)
        check_token("pad", padding, sizes["vocabulary"])
        super().__init__(
            mixer=partial(RopeAttention, n_heads=n_heads, fused=fused),
            norm=partial(nn.RMSNorm, d_model, eps=1e-6),
            feed_forward=partial(SwiGLU, d_model, width),
            embedding_std=embedding_std,
            position_embedding=False,
            scaled=False,
            **sizes,
        )
        self.padding = padding

    def shared_inputs(self, tokens_BT: Tensor) -> tuple[Given, ...]:
        return (left_padding(tokens_BT, self.padding),)

    def _positions_read(self, at_BT: Tensor, tokens_BT: Tensor) -> Tensor | None:
        return super()._positions_read(at_BT, tokens_BT) if self.padding is None else None

    def start(self, batch: int) -> State:
        """The memory before the first token of `batch` sequences."""
        device = self.wte.weight.device
        nothing = None if self.padding is None else torch.zeros(batch, 0, dtype=torch.bool, device=device)
        return replace(super().start(batch), padding=nothing)

    def step(self, tokens_B: Tensor, state: State) -> tuple[Tensor, State]:
        """One more token each: logits (B, V), equal to the last row of the full pass, and the new memory."""
        padding_BT = state.padding
        if padding_BT is not None and self.padding is not None:
            padded_B = padding_BT.all(1) & tokens_B.eq(self.padding)
            padding_BT = torch.cat([padding_BT, padded_B[:, None]], dim=1)
        logits_BV, state = self._step(tokens_B, state, padding_BT)
        return logits_BV, replace(state, padding=padding_BT)


class Llama(RopeBackbone):
    """Llama as 001 trains it: SwiGLU of 4 d_model, rotary base 1e4, RMSNorm eps 1e-6, as many key heads as query heads.

    With vocabulary 4,096 and 8 blocks: 3,147,904 weights at d_model 128, 10,490,112 at 256, 37,757,440 at 512 and
    142,623,744 at 1,024, whatever the heads and context (001-4, 001-5). `pad`: a row's leading tokens of this id are
    not attended, and more of them alter no prediction. `fused`: scaled_dot_product_attention, else an explicit softmax.
    """

    def __init__(
        self,
        n_heads: int = 4,
        d_mlp: int | None = None,
        fused: bool = True,
        pad: int | None = None,
        **sizes: Unpack[Sizes],
    ) -> None:
        super().__init__(n_heads=n_heads, d_mlp=d_mlp, fused=fused, padding=pad, embedding_std=0.02, **sizes)
        self.pad = pad

    def _positions_read(self, at_BT: Tensor, tokens_BT: Tensor) -> Tensor | None:
        """Without left padding, which only padding reads: the rest can move, as rotations see differences alone."""
        read_BT, padding_BT = Backbone._positions_read(self, at_BT, tokens_BT), left_padding(tokens_BT, self.pad)
        if read_BT is None or padding_BT is None:
            return read_BT
        return None if (at_BT & padding_BT).any() else read_BT & ~padding_BT


def check_token(name: str, token: int | None, vocabulary: int) -> None:
    """UserError unless `token` is None or one of the vocabulary."""
    whole = isinstance(token, int) and not isinstance(token, bool)
    if token is not None and not (whole and 0 <= token < vocabulary):
        raise UserError(f"{name}={token!r}: it must be a token of the vocabulary, 0 to {vocabulary - 1}, or nothing")
