"""Which tokens reach which output, measured by the gradient of output t with respect to input s."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NOTHING = 1e-9  # of the largest gradient: a path that is absent gives 0


def reach(mixer: Callable[[Tensor], Tensor], tokens: int, d_model: int) -> NDArray[np.bool_]:
    """(outputs, inputs): is there a path from input s to output t? `mixer`: (1, T, D) -> (1, outputs, ...)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        x_1TD = torch.randn(1, tokens, d_model, requires_grad=True)
        y_tN = mixer(x_1TD)[0].flatten(1)
        weights_N = torch.randn(y_tN.shape[1])  # after a norm the plain sum of features is constant
        rows = [torch.autograd.grad(y_N @ weights_N, x_1TD, retain_graph=True)[0][0].norm(dim=-1) for y_N in y_tN]
    size_tT = torch.stack(rows)
    found: NDArray[np.bool_] = (size_tT > NOTHING * size_tT.max()).numpy()
    return found
