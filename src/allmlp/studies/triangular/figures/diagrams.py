"""The paper's drawings of its mask and its model, drawn from the model here."""

from fractions import Fraction
from typing import Any

from matplotlib.figure import Figure

from allmlp.report.diagrams import REACHING, READING
from allmlp.spec.exhibits import figure

SHOWN = 5  # tokens of the paper's drawing of the mask


@figure("The averaging mask", where="Figure 1", claims=["004-2", "004-8"])
def averaging_mask_diagram() -> Figure:
    """The first rows of the mask by which the weights over time are multiplied, as the model holds it. Output token t
    (down) reads input tokens up to t (across); above the diagonal is nothing. Left: without a discount, as the model is
    trained: all tokens have the same share. Right: with a discount of one half, far stronger than the paper's 0.9999,
    so that it can be seen.
    """
    import numpy as np

    from allmlp.models.triangular import averaging_mask
    from allmlp.report.diagrams.board import Squares, board

    panels = []
    for discount, title in ((1.0, "no discount"), (0.5, "discount 1/2")):
        mask_TT = averaging_mask(SHOWN, discount).numpy()
        fractions = [[str(Fraction(float(m)).limit_denominator(99)) if m else "" for m in row] for row in mask_TT]
        panels.append(Squares(mask_TT > 0, title, np.array(fractions)))
    return board(*panels)


@figure(
    "The triangular model, as it runs here",
    where="Figures 2, 3, 4 and 5",
    claims=["004-1", "004-4", "004-5", "004-8"],
    values={"reading": READING, "reaching": REACHING},
)
def model_diagram() -> Figure:
    """Left: {reading} Both lines of a block begin after its norm. The two triangles are matrices over time, which are
    multiplied with each other and then with the tokens; the paper draws this as two layers between transpositions,
    which gives the same. Between the two linear layers of the feed-forward is a sine. Right: which tokens reach which
    in a smaller mixing layer, with one triangle and with two. {reaching}
    """
    from allmlp.models.triangular import Triangular, TriangularMixing
    from allmlp.report.diagrams.board import Squares, Stack, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach
    from allmlp.report.diagrams.sizes import Letter

    wide = {"E": Letter("features of an embedding", 11, 1024)}
    sizes: dict[str, Any] = {"vocabulary": 1092, "context": 430, "d_model": 768, "n_blocks": 17}
    drawn = language_model(Triangular, "triangular", letters=wide, d_vocabulary="E", **sizes)
    found = {"one triangle": TriangularMixing(8, 8, layers=1), "two triangles": TriangularMixing(8, 8, layers=2)}
    seen = [Squares(reach(mixing, 8, 8), f"{name}: tokens\nthat reach a token") for name, mixing in found.items()]
    return board(drawn, Stack(*seen), notes=describe_sizes(drawn))
