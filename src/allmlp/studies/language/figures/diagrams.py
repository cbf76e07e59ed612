"""The paper's drawings of its models, drawn from the models here."""

from typing import Any

from matplotlib.figure import Figure

from allmlp.report.diagrams import READING
from allmlp.spec.exhibits import figure

SIZES: dict[str, Any] = {"vocabulary": 50257, "d_model": 512}  # of the paper's models


@figure("The MLP, as it runs here", where="Figure 2", claims=["000-14"], values={"reading": READING})
def mlp_diagram() -> Figure:
    """{reading} The embeddings of all tokens are laid side by side before the first linear layer, so its weights grow
    with the context.
    """
    from allmlp.models.mlp import LastTokenMLP
    from allmlp.report.diagrams.board import board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.sizes import Letter

    neurons = {"M": Letter("neurons of a block", 11, 16384)}
    drawn = language_model(LastTokenMLP, "mlp", letters=neurons, d_mlp="M", context=15, n_blocks=2, **SIZES)
    return board(drawn, notes=describe_sizes(drawn))


@figure("The DCT-MLP, as it runs here", where="Figure 8", claims=["000-13", "000-18"], values={"reading": READING})
def dct_mlp_diagram() -> Figure:
    """Left: {reading} Right: which of the tokens each head of a smaller model sees when it computes the last one. A
    square is filled if the gradient is not zero. Every head sees a window that ends at the last token, short windows
    and long ones, through its lowest frequencies. The paper does not print the width; 512 is that of its other models.
    """
    import torch

    from allmlp.models.dct import DCTMLP, DCTHeads
    from allmlp.models.sliding_dct import SlidingDCT
    from allmlp.report.diagrams.board import Squares, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach
    from allmlp.report.diagrams.sizes import Letter

    of_heads = {"H": Letter("heads", 2, 16), "K": Letter("features of a head", 7, 32)}
    sizes = {**SIZES, "context": 2048, "n_blocks": 6, "frequencies": 4, "n_heads": "H"}
    drawn = language_model(DCTMLP, "dct-mlp", letters=of_heads, traced_width=14, closed=(SlidingDCT,), **sizes)
    heads = DCTHeads(16, 12, n_heads=8, frequencies=2)

    def last(x_BTD: torch.Tensor) -> torch.Tensor:
        y_BTD = heads.sliding(heads.proj(x_BTD).unflatten(-1, (8, -1)), heads.frequency_maps)
        return y_BTD[:, -1].unflatten(-1, (8, -1))

    seen = Squares(reach(last, 12, 16), "tokens that a head sees\nfor the last one", down="head ↓", across="token →")
    return board(drawn, seen, notes=describe_sizes(drawn))
