"""The token mixer of 001: a learned weight for each pair of positions, the same for all features."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import UserError, parameter_error
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_choice, check_heads, check_positive
from allmlp.models.rows import Rows
from allmlp.models.triangles import pad_features, token_product

PARALLEL_ACTIVATIONS = ("none", "gelu")


class Memory(NamedTuple):
    """The number of tokens read, and the input of each layer so far, (B, H, t, F + K - 1) each."""

    t: int
    read: tuple[Rows, ...]
    last: Tensor | None = None  # the input of the last layer, as one array


class TokenWeights(nn.Module):
    """y_t = b_t + sum over taps k and tokens s, s <= t where causal, of W_k[t, s] (x_s moved by k features).

    One layer: `read` tokens in, `made` tokens out, by H heads with K taps over the features, the sum of P parallel
    sets, each through a GELU first with `gelu`. (B, S, H, F) -> (B, T, H, F). Initial weights and biases are those of
    PyTorch's Conv1d(read, made, K), uniform within 1 / sqrt(read K); those above the diagonal are counted, and unused.
    """

    def __init__(
        self,
        read: int,
        made: int,
        *,
        causal: bool,
        parallel: int = 1,
        heads: int = 1,
        taps: int = 1,
        bias: bool = True,
        gelu: bool = False,
    ) -> None:
        super().__init__()
        self.causal, self.gelu, bound = causal, gelu, 1 / math.sqrt(read * taps)
        self.weight = nn.Parameter(torch.empty(parallel, heads, taps, made, read).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(parallel, heads, made).uniform_(-bound, bound)) if bias else None

    def forward(self, x_BSHF: Tensor, length: int) -> Tensor:
        """The first `length` tokens made."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        if (length, x_BSHF.shape[1]) != weight.shape[-2:]:  # a slice's backward pass would fill and copy a matrix
            weight = weight[..., :length, : x_BSHF.shape[1]]
            bias = bias if bias is None else bias[..., :length]
        products = [token_product(x_BSHF, *of_set, self.causal) for of_set in self._sets(weight, bias)]
        return self._combine_products(products)

    def row(self, t: int, seen_BHtP: Tensor) -> Tensor:
        """Token t of `forward` from the input up to t, widened: (B, H, t + 1 or less, F + K - 1) -> (B, H, 1, F)."""
        weight, bias = self.weight[..., t, : seen_BHtP.shape[2]], None if self.bias is None else self.bias[..., t]
        return self._combine_products([_row(seen_BHtP, *of_set) for of_set in self._sets(weight, bias)])

    def _sets(self, weight: Tensor, bias: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
        """Weights and biases of each product. Parallel linear maps are one map with the sum of their weights."""
        if self.gelu:
            return list(zip(weight, [None] * len(weight) if bias is None else bias, strict=True))
        return [(_merge_parallel(weight), None if bias is None else _merge_parallel(bias))]

    def _combine_products(self, products: list[Tensor]) -> Tensor:
        return torch.stack([F.gelu(y) for y in products]).sum(0) if self.gelu else products[0]


def _row(seen_BHtP: Tensor, weight_HKt: Tensor, bias_H: Tensor | None) -> Tensor:
    K = weight_HKt.shape[1]
    features = seen_BHtP.shape[-1] - K + 1
    y_BH1F = weight_HKt[:, :1] @ seen_BHtP[..., :features]
    for k in range(1, K):
        y_BH1F = y_BH1F + weight_HKt[:, k : k + 1] @ seen_BHtP[..., k : k + features]
    return y_BH1F if bias_H is None else y_BH1F + bias_H[:, None, None]


def _merge_parallel(parallel: Tensor) -> Tensor:
    return parallel.squeeze(0) if len(parallel) == 1 else parallel.sum(0)


class Mixing(TokenMixer):
    """y_t = b_t + sum over s <= t of W[t, s] x_s: one triangle for all features (001-1), or over all s if not `causal`.

    Shapes: x (B, T, D) -> (B, T, D), T <= context; a shorter sequence takes the triangle's top left corner.
    `kernel`: a triangle for each of so many neighbouring features, "same" padding (001-17). `parallel`: the sum of so
    many (001-10), linear, which one triangle equals, or as published with `parallel_activation` "gelu": each through a
    GELU before the sum (E001-18). `n_heads`: x is projected to heads of D / n_heads features, each mixed by its own
    triangle, joined and projected (001-18). `expansion` other than 1, or `flat=False`: W_2 GELU(W_1 x) over tokens,
    with a hidden layer of expansion x context, both lower triangular (001-3, 001-9): of it only the first `context` are
    ever read, and only they are computed; of the input, with a factor below 1, only the first expansion x context
    tokens (E001-16).

    A step is O(t D), and O(D^2) more with heads; its memory is the input of the triangles. This holds for the expanded
    form too: under both masks the hidden value of token t is final once x_t is known.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        causal: bool = True,
        expansion: float = 1.0,
        parallel: int = 1,
        kernel: int = 1,
        n_heads: int = 1,
        bias: bool = True,
        flat: bool | None = None,
        parallel_activation: str = "none",
    ) -> None:
        super().__init__(d_model, context)
        check_heads(d_model, n_heads)
        check_choice("parallel_activation", parallel_activation, PARALLEL_ACTIVATIONS)
        check_positive(context=context, parallel=parallel, kernel=kernel)
        self.causal, self.n_heads, self.kernel = causal, n_heads, kernel
        hidden = _hidden_tokens(context, expansion, flat)
        if hidden and parallel > 1:
            raise parameter_error(
                "parallel", parallel, f"expansion={expansion:g}, so layers stand side by side and in a row"
            )
        if parallel == 1 and parallel_activation != "none":
            raise UserError(
                f"parallel_activation={parallel_activation!r} needs parallel triangles: give `parallel` too"
            )
        sizes = [(context, hidden), (hidden, context)] if hidden else [(context, context)]
        self.layers = nn.ModuleList(
            TokenWeights(
                read,
                made,
                causal=causal,
                parallel=parallel,
                heads=n_heads,
                taps=kernel,
                bias=bias,
                gelu=parallel_activation == "gelu",
            )
            for read, made in sizes
        )
        self.heads = nn.Linear(d_model, d_model, bias=bias) if n_heads > 1 else nn.Identity()
        self.out = nn.Linear(d_model, d_model, bias=bias) if n_heads > 1 else nn.Identity()
        self.used = min(hidden, context) if causal else hidden  # hidden tokens that any output reads

    def forward(self, x_BTD: Tensor) -> Tensor:
        T, (*first, last) = x_BTD.shape[1], self._weights()
        x_BTHF = self.heads(x_BTD).unflatten(-1, (self.n_heads, -1))
        for layer in first:
            hidden = min(self.used, T) if self.causal else self.used
            x_BTHF = F.gelu(layer(x_BTHF[:, :hidden] if self.causal else x_BTHF, hidden))
        return self.out(last(x_BTHF, T).flatten(2))

    def start(self, like_BD: Tensor) -> Memory:
        if not self.causal:
            raise UserError(f"{type(self).__name__}(causal=False) cannot generate token after token")
        B, features = len(like_BD), self.d_model // self.n_heads
        empty = like_BD.new_empty(B, self.n_heads, 0, features + self.kernel - 1)
        return Memory(0, tuple(Rows(empty) for _ in self.layers))

    def step(self, x_BD: Tensor, state: Memory) -> tuple[Tensor, Memory]:
        """One more token in O(t D), and O(D^2) for the projections of heads."""
        t, (*first, last), read, seen = state.t, self._weights(), list(state.read), state.last
        row_BH1F = self.heads(x_BD).view(len(x_BD), self.n_heads, 1, -1)
        if not first or t < self.used:
            for i, layer in enumerate(first):
                seen, read[i] = read[i].append(pad_features(row_BH1F, self.kernel))
                row_BH1F = F.gelu(layer.row(t, seen))
            seen, read[-1] = read[-1].append(pad_features(row_BH1F, self.kernel))
        if seen is None:
            raise ValueError("a step needs the state that `start` or a step before gave")
        y_BD = self.out(last.row(t, seen).view(x_BD.shape))
        return y_BD, Memory(t + 1, tuple(read), seen if first else None)

    def _weights(self) -> list[TokenWeights]:  # a ModuleList does not know the type of its items
        return [layer for layer in self.layers if isinstance(layer, TokenWeights)]


def _hidden_tokens(context: int, expansion: float, flat: bool | None) -> int:
    """How many tokens the hidden layer has; 0 for none."""
    if isinstance(expansion, bool) or not isinstance(expansion, int | float) or not 0 < expansion < math.inf:
        raise parameter_error("expansion", expansion, "it must be a number above 0; 1 is the flat mixer")
    if flat and expansion != 1:
        raise parameter_error("expansion", expansion, "a flat mixer has none. Leave out `flat`, or `expansion`")
    hidden = int(context * expansion)
    if hidden < 1:
        raise parameter_error("expansion", expansion, f"context={context} leaves it no hidden token: take a larger one")
    return 0 if flat or (flat is None and expansion == 1) else hidden
