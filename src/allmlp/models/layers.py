"""Layers that several architectures share, and the checks of their hyperparameters."""

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import parameter_error


class PlainNorm(nn.Module):
    """LN0(x) = (x - mean) / sqrt(variance + eps) over the features, with no parameters (002, "LN0").

    eps = 0 is published in 002; equal features then give NaN (E002-5).
    """

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], eps=self.eps)

    def extra_repr(self) -> str:
        return f"eps={self.eps}"


class FeedForward(nn.Module):
    """W_out GELU(W_in x + b_in) + b_out for each token alone: (..., D) -> (..., D)."""

    def __init__(self, d_model: int, d_mlp: int, bias: bool = True) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_mlp, bias=bias)
        self.out = nn.Linear(d_mlp, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.gelu(self.expand(x)))


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, D / H)."""
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def join_heads(x_BHTK: Tensor) -> Tensor:
    """(B, H, T, K) -> (B, T, H K)."""
    return torch.flatten(x_BHTK.transpose(1, 2), start_dim=2)


def to_float32(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Half precision as float32, other types unchanged."""
    return tuple(x.float() if x.dtype in (torch.bfloat16, torch.float16) else x for x in tensors)


def disable_autocast(x: Tensor) -> AbstractContextManager[object]:
    """Inside, autocast leaves the precision of operands as it is. The meta device, for counting, has no autocast."""
    return nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)


def initialise_normal(module: nn.Module, std: float, residual_connections: int) -> None:
    """GPT-2's scheme (002 App. D): every nn.Linear of `module` N(0, std), biases zero.

    Linear maps named `out`, which write into the residual stream, get std / sqrt(residual_connections).
    """
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            writes = name.rpartition(".")[2] == "out"
            nn.init.normal_(layer.weight, std=std / math.sqrt(residual_connections) if writes else std)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def check_positive(**values: int) -> None:
    """UserError unless every value is an integer above zero."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise parameter_error(name, value, "it must be a whole number above 0")


def check_eps(eps: float) -> None:
    """UserError for an eps that no normalisation can use."""
    if not (isinstance(eps, (int, float)) and math.isfinite(eps) and eps >= 0):
        raise parameter_error("eps", eps, "it must be 0 (as published) or a small positive number")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """UserError, with the choices, for a value that is none of them."""
    choices = list(choices)
    if value not in choices:
        raise parameter_error(name, value, f"it must be one of {', '.join(choices)}")


def mlp_width(d_model: int, d_mlp: int | None) -> int:
    """d_mlp, 4 d_model unless given. UserError unless both are whole numbers above 0."""
    check_positive(d_model=d_model)
    d_mlp = 4 * d_model if d_mlp is None else d_mlp
    check_positive(d_mlp=d_mlp)
    return d_mlp


def check_heads(d_model: int, n_heads: int) -> None:
    """UserError unless the features divide evenly among the heads."""
    check_positive(d_model=d_model, n_heads=n_heads)
    if d_model % n_heads:
        raise parameter_error("d_model", d_model, f"does not divide among n_heads={n_heads}")
