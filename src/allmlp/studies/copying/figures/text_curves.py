"""Held-out loss of text runs in bits per byte against steps, one line per model (002-7)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.seeds import curve

FIRST_OF_END = 0.2  # the second panel begins at this share of the steps
STYLES = ("o-", "s--", "^-.")  # lines may lie upon each other


@figure("Learning text by characters", where="Figure 6, left", claims=["002-7", "002-own-2"])
def text_curves(text_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents in bits per byte of text against training steps: the whole training, and its end
    enlarged; mean over seeds and 95 % t interval, paired between models, which see the same batches. Faint: the loss of
    each training batch before its update, mean over seeds. If the text is drawn from a grammar, the black dotted line
    is its exact entropy, a lower bound for every model. All models have the same width and the same number of blocks;
    if the relation is as wide as the others' feed-forward layer, as in the paper, they also have nearly the same number
    of weights. The paper shows a drawing without numbers of training losses on WikiText-103, so there is no grey mark.
    """
    last = float(text_curve["step"].max())
    figure, ((whole, end),) = style.canvas(columns=2, height=3.2)
    for panel in (whole, end):
        _panel(panel, text_curve)
    plots.steps(whole, last)
    whole.set_ylim(bottom=0)
    whole.set_ylabel("loss (bits per byte)")
    whole.set_title(", ".join(sorted(text_curve["corpus"].unique())))
    end.set_xlim(FIRST_OF_END * last, 1.02 * last)
    shown = text_curve.loc[text_curve["step"] >= FIRST_OF_END * last, "validation_bits_per_byte"]
    end.set_ylim(0.97 * shown.min(), 1.03 * shown.max())
    end.set_title("its end")
    end.set_xlabel("training step")
    plots.legend_below(figure, [whole], ncols=4)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for position, (model, colour, of_model) in enumerate(plots.by_model(rows)):
        batches = curve(of_model, "training_bits_per_byte")
        axes.plot(batches["step"], batches["mean"], color=colour, alpha=0.3, linewidth=0.6)
        held_out = curve(of_model, "validation_bits_per_byte")
        plots.bars(axes, held_out, fmt=STYLES[position % len(STYLES)], color=colour, label=model)
    plots.floors(axes, rows["floor_bits_per_byte"], "entropy of the grammar")
