"""Held-out loss on the second text: gone on with after pre-training, and begun there (004-7)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.seeds import curve
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, RATES

NAMES = {FINE_TUNING: "pre-trained", ALONE: "from the beginning"}


@figure(
    "What pre-training brings", where="Section 4", claims=["004-7"], parts=[ALONE, FINE_TUNING], values={"rates": RATES}
)
def fine_tuning(loss_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents of the second, smaller text in nats per character against steps on that text: after
    pre-training on the first one, and without it; mean over seeds and 95 % t interval. Both have the same number of
    steps there. {rates} The paper shows no loss.
    """
    figure, ((axis,),) = style.canvas(height=2.8, width=4.6)
    for position, (part, name) in enumerate(NAMES.items()):
        line = curve(loss_curve[loss_curve["part"] == part], "validation_nats_per_character")
        plots.bars(axis, line, fmt="os"[position] + "-", color=style.NEUTRAL[position], label=name)
    axis.set_title(", ".join(sorted(loss_curve["corpus"].unique())))
    axis.set_xlabel("training step on this text")
    axis.set_ylabel("held-out loss (nats per character)")
    axis.legend(loc="upper right")
    return figure
