"""Does a later token change an earlier output, and is there a bias over time? In float64, for every form (004-8)."""

from itertools import product

import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.models.triangular import FORMS, MASKS, TriangularMixing

RECIPE = 1
B, CONTEXT, WIDTH = 2, 24, 20  # no multiple of each other: rows of "reshape" cross tokens

COLUMNS = {
    "form": exact("the text's transpose or the published code's reshape"),
    "layers": exact("triangles in sequence"),
    "mask": exact("of the triangles"),
    "leak_1": numeric("largest change of outputs up to a position when later tokens change"),
    "masked_gradient_1": numeric("largest gradient of a weight above a diagonal"),
    "time_biases": exact("weights of the layer that are no entry of a triangle"),
    "above_diagonal_1": numeric("largest entry above the diagonal of the triangles' product"),
    "in_sequence_1": numeric("largest difference from the triangles applied one after the other", atol=1e-12),
}


def measure() -> pd.DataFrame:
    """One row per form, number of triangles and mask; the run's weights are not used."""
    rows = [_row(form, layers, mask) for form, layers, mask in product(FORMS, (1, 2), MASKS)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(form: str, layers: int, mask: str) -> tuple[object, ...]:
    torch.manual_seed(0)
    mixing = TriangularMixing(WIDTH, CONTEXT, layers=layers, mask=mask, form=form).double()  # type: ignore[arg-type]
    for weight in mixing.parameters():
        torch.nn.init.normal_(weight)  # above the diagonal too: these weights must have no effect
    x_BTD = torch.randn(B, CONTEXT, WIDTH, dtype=torch.float64)
    outside = torch.ones(CONTEXT, CONTEXT).triu(1).bool()
    mixing(x_BTD).square().sum().backward()
    gradients = [float(weight.grad[outside].abs().max()) for weight in mixing.parameters() if weight.grad is not None]
    with torch.no_grad():
        above = float(mixing.matrix()[outside].abs().max())
        apart = float((mixing(x_BTD) - _one_after_another(mixing, x_BTD)).abs().max())
        leaks = [_leak(mixing, x_BTD, position) for position in range(1, CONTEXT)]
    biases = sum(weight.numel() for weight in mixing.parameters()) - layers * CONTEXT * CONTEXT
    return form, layers, mask, max(leaks), max(gradients), biases, above, apart


def _leak(mixing: TriangularMixing, x_BTD: Tensor, position: int) -> float:
    """Largest change of outputs before `position` when all inputs from there on change."""
    changed_BTD = x_BTD.clone()
    changed_BTD[:, position:] += 1 + torch.rand_like(changed_BTD[:, position:])
    return float((mixing(x_BTD) - mixing(changed_BTD))[:, :position].abs().max())


def _one_after_another(mixing: TriangularMixing, x_BTD: Tensor) -> Tensor:
    """Each triangle as a layer of its own, by the paper's x W^T over the last axis."""
    rows = x_BTD.transpose(1, 2) if mixing.form == "transpose" else x_BTD.reshape(B, WIDTH, CONTEXT)
    for triangle in mixing.triangles:
        rows = rows @ triangle().T
    return rows.transpose(1, 2) if mixing.form == "transpose" else rows.reshape(B, CONTEXT, WIDTH)
