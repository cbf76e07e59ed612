"""What follows from the forms of mixing alone: causality, reach, weights."""

from itertools import product
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from allmlp import models
from allmlp.models.triangular import FORMS, MASKS, Triangular, TriangularMixing
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.studies.triangular.paper_numbers import MULTIPLE, PRINTED, READING, SIZES, Size

B, CONTEXT, WIDTH = 2, 24, 20  # no multiple of each other: rows of "reshape" cross tokens


@measure(
    recipe=1,
    form=exact("the text's transpose or the published code's reshape"),
    layers=exact("triangles in sequence"),
    mask=exact("of the triangles"),
    leak_1=numeric("largest change of outputs up to a position when later tokens change"),
    masked_gradient_1=numeric("largest gradient of a weight above a diagonal"),
    time_biases=exact("weights of the layer that are no entry of a triangle"),
    above_diagonal_1=numeric("largest entry above the diagonal of the triangles' product"),
    in_sequence_1=numeric("largest difference from the triangles applied one after the other", atol=1e-12),
)
def causality() -> Rows:
    """Does a later token change an earlier output, and is there a bias over time? In float64, for every form (004-8).

    One row per form, number of triangles and mask; the run's weights are not used.
    """
    return [_row(form, layers, mask) for form, layers, mask in product(FORMS, (1, 2), MASKS)]


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
        apart = float((mixing(x_BTD) - _mix_sequentially(mixing, x_BTD)).abs().max())
        leaks = [_leak(mixing, x_BTD, position) for position in range(1, CONTEXT)]
    biases = sum(weight.numel() for weight in mixing.parameters()) - layers * CONTEXT * CONTEXT
    return form, layers, mask, max(leaks), max(gradients), biases, above, apart


def _leak(mixing: TriangularMixing, x_BTD: Tensor, position: int) -> float:
    """Largest change of outputs before `position` when all inputs from there on change."""
    changed_BTD = x_BTD.clone()
    changed_BTD[:, position:] += 1 + torch.rand_like(changed_BTD[:, position:])
    return float((mixing(x_BTD) - mixing(changed_BTD))[:, :position].abs().max())


def _mix_sequentially(mixing: TriangularMixing, x_BTD: Tensor) -> Tensor:
    """Each triangle as a layer of its own, by the paper's x W^T over the last axis."""
    rows = x_BTD.transpose(1, 2) if mixing.form == "transpose" else x_BTD.reshape(B, WIDTH, CONTEXT)
    for triangle in mixing.triangles:
        rows = rows @ triangle().T
    return rows.transpose(1, 2) if mixing.form == "transpose" else rows.reshape(B, CONTEXT, WIDTH)


NARROW = 8  # width of embeddings and feed-forward: they act within a token, so their width does not change the reach


@measure(
    recipe=1,
    form=exact("the text's transpose or the published code's reshape"),
    context=exact("tokens"),
    d_model=exact("width"),
    n_blocks=exact("blocks"),
    tokens_back=exact("how far before the last position a token stands"),
    heard=exact("is the gradient with respect to it other than 0?"),
    gradient_1=numeric("its norm over that of the last token's own", rtol=1e-2, atol=1e-9),
)
def reach() -> Rows:
    """How far back a prediction depends on the text: gradients of the last position by each token (E004-1, E004-6).

    One row per form, size and token, for models with fresh weights; the run's weights are not used.
    """
    parts = [_reach(form, size) for size, form in product((PRINTED, MULTIPLE), FORMS)]
    return pd.concat(parts, ignore_index=True)


def _reach(form: str, size: Size) -> pd.DataFrame:
    torch.manual_seed(0)
    # plain: fresh averaging triangles pass on so little that the gradient is soon too small for a float
    widths = {"d_vocabulary": NARROW, "d_mlp": NARROW}
    model = Triangular(vocabulary=2, **size._asdict(), **widths, mask="plain", form=form)  # type: ignore[arg-type]
    model = model.double().requires_grad_(False)
    embedded_1TV = torch.randn(1, size.context, NARROW, dtype=torch.float64, requires_grad=True)
    # a random direction: the sum of a normed vector is constant, so it would have no gradient
    direction_D = torch.randn(size.d_model, dtype=torch.float64)
    last = model.from_embeddings(embedded_1TV)[0, -1] @ direction_D
    (gradient_1TV,) = torch.autograd.grad(last, embedded_1TV)
    norms_T = gradient_1TV[0].norm(dim=-1).flip(0)
    columns = form, *size, range(size.context), (norms_T > 0).tolist(), (norms_T / norms_T[0]).tolist()
    return pd.DataFrame(dict(zip(reach.columns, columns, strict=True)))


READINGS: dict[str, dict[str, Any]] = {
    READING: {},
    "one triangle, sine layer": {"layers": 1},
    "two triangles, sine layer as wide as the model": {"d_mlp": SIZES["d_model"]},
}


@measure(
    recipe=1,
    reading=exact("which model the text might mean"),
    parameters=exact("its weights"),
    masked=exact("those of them above the diagonals of the triangles, which take no part"),
)
def parameter_counts() -> Rows:
    """Weights at the printed sizes, and of other readings of the text (004-1, E004-3).

    One row per reading; nothing is allocated, and the run's weights are not used.
    """
    for reading, changes in READINGS.items():
        sizes = {**SIZES, **changes}
        with torch.device("meta"):
            model = models.build("triangular", **sizes)
        masked = SIZES["n_blocks"] * sizes.get("layers", 2) * SIZES["context"] * (SIZES["context"] - 1) // 2
        yield (reading, sum(weight.numel() for weight in model.parameters()), masked)
