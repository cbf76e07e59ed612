"""Linear attention and the Linear Transformer that 002 compares with."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.attention import Transformer
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_heads, disable_autocast, join_heads, split_heads, to_float32

RECIPE = 1

CHUNK = 64  # positions taken as one small matrix; shorter sequences need no running sums at all

IN_TURN = ("cpu",)  # devices that take chunk after chunk

Sums = tuple[Tensor, Tensor]  # sum of phi(k) v^T (B, H, K, K) and of phi(k) (B, H, 1, K) over the past


class LinearAttention(TokenMixer):
    """y_j = W_out [phi(q_j)^T sum_{i<=j} phi(k_i) v_i^T] / [phi(q_j)^T sum_{i<=j} phi(k_i)], phi = elu + 1.

    As in 002's reference 7. Shapes: x (B, T, D) -> (B, T, D), head by head, K = D / n_heads. O(T): the sums
    over the past are carried from chunk to chunk, and inside a chunk the same sums are one masked matrix
    product. A CPU takes chunk after chunk, which stay in its caches; a GPU all at once, in fewer kernels. Half
    precision, which sums over a long past exceed, is taken in single precision.
    """

    def __init__(self, d_model: int, context: int, *, n_heads: int = 1) -> None:
        super().__init__(d_model, context)
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        form = _attend_in_turn if x_BTD.device.type in IN_TURN else _attend_at_once
        parts = self._project(x_BTD)
        with disable_autocast(x_BTD):
            y_BHTK = form(*parts)
        return self.out(join_heads(y_BHTK))

    def start(self, like_BD: Tensor) -> Sums:
        B, H, K = like_BD.shape[0], self.n_heads, self.d_model // self.n_heads
        return like_BD.new_zeros(B, H, K, K), like_BD.new_zeros(B, H, 1, K)

    def step(self, x_BD: Tensor, state: Sums) -> tuple[Tensor, Sums]:
        """One more token in O(D^2 / n_heads), however long the past is."""
        q, k, v = self._project(x_BD[:, None])
        with disable_autocast(x_BD):
            state = _remember(k, v, state)
            y_BH1K = (q @ state[0]) / (q * state[1]).sum(-1, keepdim=True)
        return self.out(join_heads(y_BH1K)[:, 0]), state

    def _project(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = to_float32(*self.qkv(x_BTD).chunk(3, dim=-1))
        q, k, v = (split_heads(part, self.n_heads) for part in (F.elu(q) + 1, F.elu(k) + 1, v))
        return q, k, v


def _attend_in_turn(q_BHTK: Tensor, k_BHTK: Tensor, v_BHTK: Tensor) -> Tensor:
    parts = [part.split(CHUNK, dim=2) for part in (q_BHTK, k_BHTK, v_BHTK)]
    past, rows = None, []
    for index, (q, k, v) in enumerate(zip(*parts, strict=True)):
        rows.append(_attend(q, k, v, past))
        if index + 1 < len(parts[0]):
            past = _remember(k, v, past)
    return torch.cat(rows, dim=2)


def _attend_at_once(q_BHTK: Tensor, k_BHTK: Tensor, v_BHTK: Tensor) -> Tensor:
    """The same with one more axis, of C chunks. What fills the last chunk up is cut off before the division: there both
    sums are 0.
    """
    T = q_BHTK.shape[2]
    if T <= CHUNK:
        return _attend(q_BHTK, k_BHTK, v_BHTK, None)
    parts, lacking = [q_BHTK, k_BHTK, v_BHTK], -T % CHUNK
    if lacking:
        parts = [F.pad(part, (0, 0, 0, lacking)) for part in parts]
    q, k, v = (part.unflatten(2, (-1, CHUNK)) for part in parts)
    products, keys = (_sums_before(of) for of in (k.mT @ v, k.sum(3, keepdim=True)))
    weights_BHCji = (q @ k.mT).tril()
    numerator = weights_BHCji @ v + q @ products
    denominator = weights_BHCji.sum(-1, keepdim=True) + (q * keys).sum(-1, keepdim=True)
    numerator_BHTK, denominator_BHT1 = (of.flatten(2, 3)[:, :, :T] for of in (numerator, denominator))
    return numerator_BHTK / denominator_BHT1


def _sums_before(of_BHC: Tensor) -> Tensor:
    """Of each chunk the sum over those before it: (B, H, C, ...)."""
    return F.pad(of_BHC[:, :, :-1].cumsum(2), (0, 0, 0, 0, 1, 0))


def _attend(q: Tensor, k: Tensor, v: Tensor, past: Sums | None) -> Tensor:
    weights_BHji = (q @ k.mT).tril()
    numerator, denominator = weights_BHji @ v, weights_BHji.sum(-1, keepdim=True)
    if past is not None:
        numerator = numerator + q @ past[0]
        denominator = denominator + (q * past[1]).sum(-1, keepdim=True)
    return numerator / denominator


def _remember(k: Tensor, v: Tensor, past: Sums | None) -> Sums:
    products, keys = k.mT @ v, k.sum(2, keepdim=True)
    return (products, keys) if past is None else (past[0] + products, past[1] + keys)


class LinearTransformer(Transformer):
    """The Transformer of 002 with linear attention in place of softmax attention; the same weights."""

    MIXER: ClassVar[Callable[..., TokenMixer]] = LinearAttention
