"""How far back a prediction hears, in the text's form and in the published code's (004-8, E004-1, E004-6)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.triangular.printed import MULTIPLE, PRINTED, Size

MEASURES = ["reach"]
PAPER = "Figure 3 and its published code"
CLAIMS = ["004-8"]
TITLE = "How far information travels"
CAPTION = (
    "Norm of the gradient of the last position's output with respect to each earlier token, over that with respect to "
    "its own, in models with fresh weights and plain masks: at the paper's context, width and number of blocks, and "
    "where the width is a multiple of the context. Tokens with a gradient of exactly zero are not drawn: nothing of "
    "them arrives. The text transposes; the published code reshapes, so that a block moves information by about one "
    "token, or by none. Grey: the whole context."
)
FORMS = {"transpose": "transpose (text)", "reshape": "reshape (published code)"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per size; tables["reach"]."""
    rows = tables["reach"]
    figure, axes = style.canvas(columns=2, height=2.9)
    for axis, size in zip(axes[0], (PRINTED, MULTIPLE), strict=True):
        of_size = rows[(rows["context"] == size.context) & (rows["d_model"] == size.d_model)]
        _panel(axis, of_size, size)
    axes[0, 0].set_ylabel("gradient over the own token's")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, size: Size) -> None:
    for position, (form, name) in enumerate(FORMS.items()):
        heard = rows[(rows["form"] == form) & rows["heard"].astype(bool)]
        marker = "o" if len(heard) < size.context // 2 else ""
        axes.plot(
            heard["tokens_back"] + 1,
            heard["gradient_1"],
            marker=marker,
            markersize=3,
            color=style.NEUTRAL[position],
            label=name,
        )
    style.mark_paper(axes, size.context, along="x", label="the whole context")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("token, counted back (the last: 1)")
    axes.set_title(f"context {size.context}, width {size.d_model}, {size.n_blocks} blocks")
