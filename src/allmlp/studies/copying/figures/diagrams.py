"""The paper's drawing of a block and its linear form, drawn from the models here."""

from typing import Any

from matplotlib.figure import Figure

from allmlp.report.diagrams import REACHING, READING
from allmlp.spec.exhibits import figure

VALUES = {"reading": READING, "reaching": REACHING}
# of the paper, for strings of 16
SIZES: dict[str, Any] = {"vocabulary": 29, "context": 34, "d_model": 192, "n_blocks": 12}


@figure("The causal relation network, as it runs here", where="Figure 1", claims=["002-10"], values=VALUES)
def causal_rn_diagram() -> Figure:
    """Left: {reading} The mixer makes two vectors of each token, p (left) and q (right), and subtracts their means. For
    every pair of a token j and an earlier token i it takes exp of the normalised p_i + q_j, and sums over i; that is
    one step, since no pair is kept. The sum is divided by the number of its pairs. Right: the pairs (i, j) of a smaller
    mixer. {reaching}
    """
    from allmlp.models.causal_rn import CausalRelation, CausalRN
    from allmlp.report.diagrams.board import Squares, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach

    drawn = language_model(CausalRN, "causal-rn", **SIZES)
    found = reach(CausalRelation(8, 8), 8, 8)
    pairs = Squares(found, "pairs of tokens\nthat are summed", down="token j ↓", across="token i →")
    return board(drawn, pairs, notes=describe_sizes(drawn))


@figure(
    "The linear causal relation network, as it runs here", where="Figure 5", claims=["002-6", "002-11"], values=VALUES
)
def linear_causal_rn_diagram() -> Figure:
    """Left: {reading} In place of a sum over pairs there is one running sum of exp(p) over the tokens, since exp(p + q)
    is a product. Its logarithm and q are added, and exp is taken relative to the largest feature, as in the paper's
    code, so that nothing overflows; the norm behind it takes that divisor out again. Right: which tokens reach which
    in a smaller mixer. {reaching} It is the same triangle as with pairs.
    """
    from allmlp.models.causal_rn import CausalRelation
    from allmlp.models.linear_causal_rn import LinearCausalRN
    from allmlp.report.diagrams.board import Squares, board, describe_sizes
    from allmlp.report.diagrams.language_model import language_model
    from allmlp.report.diagrams.reach import reach

    drawn = language_model(LinearCausalRN, "linear-causal-rn", **SIZES)
    seen = reach(CausalRelation(8, 8, pre_norm="approximate"), 8, 8)
    return board(drawn, Squares(seen, "tokens that reach\na token"), notes=describe_sizes(drawn))
