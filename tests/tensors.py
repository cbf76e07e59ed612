"""Inputs and weights on which no term of a formula can hide, and the norm of the formulas, in float64."""

import math
from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def inputs(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Values of size 1, the same ones in every `dtype`."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def randomised(module: Module) -> Module:
    """Weights of size 1 and biases that are not zero."""
    torch.manual_seed(1)
    for weight in module.double().parameters():
        nn.init.normal_(weight, std=1 / math.sqrt(weight.shape[-1]))
    return module


def ln0(x: Tensor, eps: float = 1e-5) -> Tensor:
    """A layer norm without weights, over the last axis."""
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)
