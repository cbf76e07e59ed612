"""The article's drawings of its models, drawn from the models here."""

from typing import Any

from matplotlib.figure import Figure

from allmlp.report.diagrams import REACHING, READING
from allmlp.spec.exhibits import figure

VALUES = {"reading": READING, "reaching": REACHING}
# of the article's language models
SIZES: dict[str, Any] = {"vocabulary": 4096, "context": 512, "d_model": 1024, "n_blocks": 8}


@figure(
    "The masked mixer, as it runs here",
    where="Drawing of the mixer with a kernel",
    claims=["001-1", "001-17"],
    values=VALUES,
)
def mixer_diagram() -> Figure:
    """Left: {reading} TokenWeights holds a weight for each pair of tokens, four times, as its kernel has four taps.
    Right above: which tokens reach which in a smaller mixing layer. {reaching} Right below: which features reach which
    inside that layer, from an earlier token to a later one: the kernel runs over neighbouring features.
    """
    import torch

    from allmlp.models.masked_mixer import MaskedMixer
    from allmlp.models.masked_mixing import Mixing
    from allmlp.report.diagrams.board import Squares, Stack, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach

    drawn = language_model(MaskedMixer, "masked-mixer, kernel 4", kernel=4, **SIZES)
    mixing = Mixing(8, 8, kernel=4)

    def over_features(x_BFT: torch.Tensor) -> torch.Tensor:
        return mixing(x_BFT.mT)[:, -1:].mT

    of_tokens = Squares(reach(mixing, 8, 8), "tokens that reach\na token")
    found = reach(over_features, 8, 8)
    of_features = Squares(found, "features that reach\na feature", down="feature ↓", across="of earlier tokens →")
    return board(drawn, Stack(of_tokens, of_features), notes=describe_sizes(drawn))


@figure(
    "Mixing with a hidden layer, and in heads",
    where="Drawings of the mixer's expanded form and of its heads",
    claims=["001-9", "001-18"],
    values=VALUES,
)
def mixing_diagram() -> Figure:
    """The mixing layer alone, in two other forms. {reading} Left: two triangles over tokens with a GELU between them.
    The hidden layer has two values for each token, but under the mask only the first half of them is ever read, and
    only these are computed. Right: two heads; each has features and a triangle of its own. Below: which tokens reach
    which in a smaller layer. {reaching}
    """
    import torch

    from allmlp.models.masked_mixing import Mixing
    from allmlp.report.diagrams.board import Squares, Stack, board, describe_sizes
    from allmlp.report.diagrams.column import Column
    from allmlp.report.diagrams.reach import reach
    from allmlp.report.diagrams.sizes import Letter, Sizes
    from allmlp.report.diagrams.subject import subject

    letters = {
        "B": Letter("sequences", 17),
        "T": Letter("tokens", 5, 512),
        "H": Letter("heads", 2, 2),
        "K": Letter("features of a head", 7, 512),
        "D": Letter("features", 14, 1024),
    }

    def given(sizes: Sizes) -> torch.Tensor:
        return torch.zeros(sizes["B"], sizes["T"], sizes["D"])

    forms: dict[str, dict[str, Any]] = {"expanded twice": {"expansion": 2.0}, "two heads": {"n_heads": 2}}
    drawn, panels = [], []
    for title, form in forms.items():
        drawn.append(Column(subject(Mixing, {"d_model": "D", "context": "T", **form}, letters, given), title, "x"))
        found = reach(Mixing(8, 8, **form), 8, 8)
        panels.append(Stack(drawn[-1], Squares(found, f"{title}: tokens\nthat reach a token")))
    return board(*panels, notes=describe_sizes(*drawn))


@figure("The hybrid, as it runs here", where="Drawing of the hybrid", claims=["001-19"], values=VALUES)
def hybrid_diagram() -> Figure:
    """A transformer with masked mixing before the attention of each block. Left: {reading} Right: which tokens reach
    which in a smaller block. {reaching} Neither branch reads a later token, as long as rows are not padded at the left.
    """
    from allmlp.models.hybrid import Hybrid
    from allmlp.models.llama import RopeAttention
    from allmlp.report.diagrams.board import Squares, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach

    drawn = language_model(Hybrid, "hybrid", traced_width=8, closed=(RopeAttention,), **SIZES)
    (block,) = Hybrid(vocabulary=8, context=8, d_model=8, n_blocks=1).blocks
    return board(drawn, Squares(reach(block, 8, 8), "tokens that reach\na token"), notes=describe_sizes(drawn))


@figure("The matcher, as it runs here", where="Drawing of the retrieval model", claims=["001-22"], values=VALUES)
def matcher_diagram() -> Figure:
    """The matcher reads the embeddings of a query and of its candidates, the query first, and gives each candidate a
    score. Left: {reading} Right: which embeddings reach which in a smaller mixing layer; its mixing has no mask.
    {reaching}
    """
    import torch

    from allmlp.models.masked_mixing import Mixing
    from allmlp.models.matchers import MatcherMixer
    from allmlp.report.diagrams.board import Squares, board, describe_sizes
    from allmlp.report.diagrams.column import Column
    from allmlp.report.diagrams.reach import reach
    from allmlp.report.diagrams.sizes import Letter, Sizes
    from allmlp.report.diagrams.subject import subject

    letters = {
        "B": Letter("queries", 17),
        "C": Letter("query and candidates", 5, 32),
        "D": Letter("features", 7, 1024),
    }

    def embeddings(sizes: Sizes) -> torch.Tensor:
        return torch.zeros(sizes["B"], sizes["C"], sizes["D"])

    named = {"features": "D", "context": "C", "n_blocks": 8}
    drawn = Column(subject(MatcherMixer, named, letters, embeddings), "matcher-mixer", "embeddings")
    seen = Squares(reach(Mixing(8, 8, causal=False), 8, 8), "embeddings that\nreach an embedding")
    return board(drawn, seen, notes=describe_sizes(drawn))
