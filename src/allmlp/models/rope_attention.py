"""Causal softmax attention with rotary positions (RoPE) as in Llama; left padding is not attended."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.errors import UserError
from allmlp.models.attention import Cache, SoftmaxAttention
from allmlp.models.layers import heads_join


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
            raise UserError(f"n_heads={n_heads} gives heads of {K} features; rotary positions need an even number")
        if not isinstance(fused, bool):
            raise UserError(f"fused={fused!r}: it must be true or false")
        self.fused = fused
        rate_F = base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
        angle_TF = torch.arange(context, dtype=torch.float64)[:, None] * rate_F
        self.register_buffer("cosine", angle_TF.cos(), persistent=False)
        self.register_buffer("sine", angle_TF.sin(), persistent=False)

    def forward(self, x_BTD: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        q, k, v = self._turned(x_BTD, first=0)
        T = x_BTD.shape[1]
        allowed: Tensor | None = None
        if padding_BT is not None:  # padding attends to itself: a softmax over no position would be NaN
            own_TT = torch.eye(T, dtype=torch.bool, device=x_BTD.device)
            allowed = (~padding_BT[:, None, None] & own_TT.new_ones(T, T).tril()) | own_TT
        elif not self.fused:
            allowed = torch.ones(T, T, dtype=torch.bool, device=x_BTD.device).tril()
        return self.out(heads_join(self._attend(q, k, v, allowed)))

    def step(self, x_BD: Tensor, state: Cache, padding_BT: Tensor | None = None) -> tuple[Tensor, Cache]:
        """One more token in O(t D + D^2). padding (B, t): of all tokens so far, this one included."""
        q, k, v = self._turned(x_BD[:, None], first=state[0].length)
        (k, keys), (v, values) = state[0].append(k), state[1].append(v)
        allowed: Tensor | None = None
        if padding_BT is not None:
            own_T = torch.arange(k.shape[-2], device=k.device) == k.shape[-2] - 1
            allowed = (~padding_BT | own_T)[:, None, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.out(heads_join(y)[:, 0]), (keys, values)

    def _turned(self, x_BTD: Tensor, first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Turned queries and keys, and values, of tokens at positions `first` and after."""
        q, k, v = self._project(x_BTD)
        return self._turn(q, first), self._turn(k, first), v

    def _turn(self, z_BHTK: Tensor, first: int) -> Tensor:
        at = slice(first, first + z_BHTK.shape[-2])
        cos_TF, sin_TF = (self.get_buffer(name)[at].to(z_BHTK.dtype) for name in ("cosine", "sine"))
        a, b = z_BHTK.chunk(2, dim=-1)
        return torch.cat([a * cos_TF - b * sin_TF, b * cos_TF + a * sin_TF], dim=-1)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, is_causal=allowed is None)
        assert allowed is not None
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~allowed, -math.inf)
        return scores.softmax(dim=-1).to(v.dtype) @ v
