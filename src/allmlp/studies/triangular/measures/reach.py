"""How far back a prediction depends on the text: gradients of the last position by each token (E004-1, E004-6)."""

from itertools import product

import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.models.triangular import FORMS, Triangular
from allmlp.studies.triangular.printed import MULTIPLE, PRINTED, Size

RECIPE = 1
NARROW = 8  # width of embeddings and feed-forward: they act within a token, so their width does not change the reach

COLUMNS = {
    "form": exact("the text's transpose or the published code's reshape"),
    "context": exact("tokens"),
    "d_model": exact("width"),
    "n_blocks": exact("blocks"),
    "tokens_back": exact("how far before the last position a token stands"),
    "heard": exact("is the gradient with respect to it other than 0?"),
    "gradient_1": numeric("its norm over that of the last token's own", rtol=1e-2, atol=1e-9),
}


def measure() -> pd.DataFrame:
    """One row per form, size and token, for models with fresh weights; the run's weights are not used."""
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
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
