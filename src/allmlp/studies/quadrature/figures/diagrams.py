"""The paper's drawing of its network, drawn from the model here."""

from matplotlib.figure import Figure

from allmlp.report.diagrams import READING
from allmlp.spec.exhibits import figure


@figure("The network, as it runs here", where="Figure 1", claims=["003-8"], values={"reading": READING})
def network_diagram() -> Figure:
    """{reading} `the same`: the weights of the box above. Every attention weight is one half. So the residual
    stream is a row of one table, chosen by the first token, plus a row of another, chosen by the second. The tables
    are made first, without the tokens: from the embeddings, and from the product of the values' and outputs'
    matrices over all heads. The paper's drawing adds what is known of each part; here that is in the figures of
    angles, sums and errors.
    """
    from collections.abc import Callable

    from torch import Tensor

    from allmlp.models.constant_attention import ConstantAttention
    from allmlp.report.diagrams.board import board, describe_sizes
    from allmlp.report.diagrams.column import Column
    from allmlp.report.diagrams.sizes import Letter
    from allmlp.report.diagrams.subject import subject, tokens

    letters = {
        "B": Letter("pairs", 17),
        "T": Letter("tokens", 2, 2),
        "D": Letter("features", 20, 128),
        "M": Letter("neurons", 11, 512),
        "V": Letter("numbers modulo p", 13, 59),
    }
    named = {"vocabulary": "V", "context": "T", "d_model": "D", "n_heads": 4, "d_mlp": "M"}

    def logits(model: ConstantAttention) -> Callable[[Tensor], Tensor]:
        return lambda pairs_B2: model.hidden(pairs_B2) @ model.W_U

    drawn = Column(subject(ConstantAttention, named, letters, tokens, run=logits), "constant-attention", "x and y")
    return board(drawn, notes=describe_sizes(drawn))
