"""How far back a prediction depends on the text, in the text's form and in the published code's (004-8, E004-1)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.triangular.printed import MULTIPLE, PRINTED

FORMS = {"transpose": "transpose (text)", "reshape": "reshape (published code)"}


@figure("How far information travels", where="Figure 3 and its published code", claims=["004-8"])
def reach(reach: pd.DataFrame) -> Figure:
    """Norm of the gradient of the last position's output with respect to each earlier token, over that with respect to
    its own, in models with fresh weights and plain masks: at the paper's context, width and number of blocks, and where
    the width is a multiple of the context. Tokens with a gradient of exactly zero are not drawn: nothing of them
    arrives. The text transposes; the published code reshapes, so that a block moves information by about one token, or
    by none. Grey: the whole context.
    """
    figure, axes = style.canvas(columns=2, height=2.9)
    for axis, size in zip(axes[0], (PRINTED, MULTIPLE), strict=True):
        heard = reach[reach["context"].eq(size.context) & reach["d_model"].eq(size.d_model) & reach["heard"].eq(True)]
        for position, (form, name) in enumerate(FORMS.items()):
            line = heard[heard["form"] == form]
            looks = {"marker": "o" if len(line) < size.context // 2 else "", "markersize": 3}
            axis.plot(line["tokens_back"] + 1, line["gradient_1"], color=style.NEUTRAL[position], label=name, **looks)
        style.mark_paper(axis, size.context, along="x", label="the whole context")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("token, counted back (the last: 1)")
        axis.set_title(f"context {size.context}, width {size.d_model}, {size.n_blocks} blocks")
    axes[0, 0].set_ylabel("gradient over the own token's")
    plots.legend_below(figure, axes[0, :1], ncols=3)
    return figure
