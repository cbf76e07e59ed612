"""DCT neurons and the DCT-MLP of 000: heads that see a window through its lowest frequencies, in attention's place."""

from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.base import TokenMixer
from allmlp.models.gpt2 import gpt2_parts
from allmlp.models.layers import check_choice, check_heads, check_positive
from allmlp.models.sliding_dct import Memory, SlidingDCT, coefficients, log_windows

RECIPE = 1

ACTIVATIONS = ("gelu", "relu", "none")
FIRST_GAIN = 0.02  # of a norm that ends a branch


class DCTNeuron(nn.Module):
    """sum_j w_j . DCT_j(x_{T-t+1}, ..., x_T): a linear function of the last t tokens with k d weights (000 eq. 1).

    x (B, T, D) -> (B,), T >= window; orthonormal coefficients j = 0..k-1 (E000-5).
    """

    basis: Tensor  # (k, t) float64

    def __init__(self, d_model: int, window: int, frequencies: int) -> None:
        super().__init__()
        check_positive(d_model=d_model, window=window)
        self.register_buffer("basis", torch.from_numpy(coefficients(window, frequencies)), persistent=False)
        self.weight = nn.Parameter(torch.randn(frequencies, d_model) / (frequencies * d_model) ** 0.5)

    def forward(self, x_BTD: Tensor) -> Tensor:
        basis_jt = self.basis.to(x_BTD.dtype)
        return torch.einsum("jt,btd,jd->b", basis_jt, x_BTD[:, -basis_jt.shape[1] :], self.weight)


class DCTHeads(TokenMixer):
    """activation(norm(W_out [o_1 ... o_H])), o_h = sum_j W_hj^T DCT_j over head h's window of W_proj x (000 C.2).

    Shapes: x (B, T, D) -> (B, T, D), head by head, K = D / n_heads. Windows evenly in their logarithm from
    `frequencies` to the context (E000-9). As in the paper, and unlike attention, a norm and a non-linearity follow the
    last linear map; `activation="none"` leaves out both.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        n_heads: int = 16,
        frequencies: int = 4,
        activation: str = "gelu",
        eps: float = 1e-5,
    ) -> None:
        super().__init__(d_model, context)
        check_heads(d_model, n_heads)
        check_positive(frequencies=frequencies)
        check_choice("activation", activation, ACTIVATIONS)
        K = d_model // n_heads
        self.n_heads, self.activation = n_heads, activation
        self.sliding = SlidingDCT(log_windows(n_heads, frequencies, context), frequencies, context)
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.frequency_maps = nn.Parameter(torch.randn(n_heads, frequencies, K, K) / (frequencies * K) ** 0.5)
        self.out = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=eps) if activation != "none" else nn.Identity()
        if isinstance(self.norm, nn.LayerNorm):
            # in GPT-2's scheme the layer that writes into the residual stream starts small: here the norm
            nn.init.constant_(self.norm.weight, FIRST_GAIN)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self._finish(self.sliding(self._heads(x_BTD), self.frequency_maps))

    def start(self, like_BD: Tensor) -> Memory:
        return self.sliding.start(like_BD)

    def step(self, x_BD: Tensor, state: Memory) -> tuple[Tensor, Memory]:
        """One more token in O(k D + D^2), however long the windows are."""
        y_BD, state = self.sliding.step(self._heads(x_BD), self.frequency_maps, state)
        return self._finish(y_BD), state

    def _heads(self, x: Tensor) -> Tensor:
        return self.proj(x).unflatten(-1, (self.n_heads, -1))

    def _finish(self, y: Tensor) -> Tensor:
        z = self.norm(self.out(y))
        return F.gelu(z) if self.activation == "gelu" else F.relu(z) if self.activation == "relu" else z


class DCTMLP(Backbone):
    """GPT-2 with DCT heads in place of attention: tokens (B, T) -> logits (B, T, V) (000 Sec. 5.2).

    A block has 10.25 d_model^2 weights in matrices with 16 heads, 4 frequencies and d_mlp 4 d_model; biases
    and norms come on top. Only the learned positions depend on the context.
    """

    family: ClassVar[str] = "all-MLP"

    def __init__(
        self,
        n_heads: int = 16,
        frequencies: int = 4,
        activation: str = "gelu",
        d_mlp: int | None = None,
        bias: bool = True,
        eps: float = 1e-5,
        embedding_std: float = 0.02,
        **sizes: Unpack[Sizes],
    ) -> None:
        check_heads(sizes["d_model"], n_heads)
        super().__init__(
            mixer=partial(DCTHeads, n_heads=n_heads, frequencies=frequencies, activation=activation, eps=eps),
            embedding_std=embedding_std,
            **gpt2_parts(sizes["d_model"], d_mlp, bias, eps),
            **sizes,
        )
