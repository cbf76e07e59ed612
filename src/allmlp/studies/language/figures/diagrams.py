"""The paper's drawings of its models, drawn from the models here."""

from matplotlib.figure import Figure

from allmlp.report.diagrams import READING
from allmlp.report.exhibits import figure


@figure("The MLP, as it runs here", where="Figure 2", claims=["000-14"], values={"reading": READING})
def mlp_diagram() -> Figure:
    """{reading} The embeddings of all tokens are laid side by side before the first linear layer, so its weights grow
    with the context.
    """
    from allmlp.models.mlp import LastTokenMLP
    from allmlp.report.diagrams.board import board, sizes_of
    from allmlp.report.diagrams.column import Column
    from allmlp.report.diagrams.sizes import Letter
    from allmlp.report.diagrams.subject import subject, tokens

    letters = {
        "B": Letter("sequences", 17),
        "T": Letter("tokens", 5, 15),
        "D": Letter("features", 7, 512),
        "M": Letter("neurons of a block", 11, 16384),
        "V": Letter("tokens of the vocabulary", 13, 50257),
    }
    named = {"vocabulary": "V", "context": "T", "d_model": "D", "d_mlp": "M", "n_blocks": 2}
    drawn = Column(subject(LastTokenMLP, named, letters, tokens), "mlp", "tokens")
    return board(drawn, notes=sizes_of(drawn))


@figure("The DCT-MLP, as it runs here", where="Figure 8", claims=["000-13", "000-18"], values={"reading": READING})
def dct_mlp_diagram() -> Figure:
    """Left: {reading} Right: which of the tokens each head of a smaller model sees when it computes the last one. A
    square is filled if the gradient is not zero. Every head sees a window that ends at the last token, short windows
    and long ones, through its lowest frequencies. The paper does not print the width; 512 is that of its other models.
    """
    import torch

    from allmlp.models.dct import DCTMLP, DCTHeads
    from allmlp.models.sliding_dct import SlidingDCT
    from allmlp.report.diagrams.board import Squares, board, sizes_of
    from allmlp.report.diagrams.column import Column
    from allmlp.report.diagrams.reach import reach
    from allmlp.report.diagrams.sizes import Letter
    from allmlp.report.diagrams.subject import subject, tokens

    letters = {
        "B": Letter("sequences", 17),
        "T": Letter("tokens", 5, 2048),
        "H": Letter("heads", 2, 16),
        "K": Letter("features of a head", 7, 32),
        "D": Letter("features", 14, 512),
        "V": Letter("tokens of the vocabulary", 13, 50257),
    }
    named = {"vocabulary": "V", "context": "T", "d_model": "D", "n_heads": "H", "n_blocks": 6, "frequencies": 4}
    drawn = Column(subject(DCTMLP, named, letters, tokens, closed=(SlidingDCT,)), "dct-mlp", "tokens")
    heads = DCTHeads(16, 12, n_heads=8, frequencies=2)

    def last(x_BTD: torch.Tensor) -> torch.Tensor:
        y_BTD = heads.sliding(heads.proj(x_BTD).unflatten(-1, (8, -1)), heads.frequency_maps)
        return y_BTD[:, -1].unflatten(-1, (8, -1))

    seen = Squares(reach(last, 12, 16), "tokens that a head sees\nfor the last one", down="head ↓", across="token →")
    return board(drawn, seen, notes=sizes_of(drawn))
