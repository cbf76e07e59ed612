"""Held-out loss on the second text: gone on with after pre-training, and begun there (004-7)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, RATES

MEASURES = ["loss_curve"]
PARTS = [ALONE, FINE_TUNING]
PAPER = "Section 4"
CLAIMS = ["004-7"]
TITLE = "What pre-training brings"
CAPTION = (
    "Loss on held-out documents of the second, smaller text in nats per character against steps on that text: after "
    "pre-training on the first one, and without it; mean over seeds and 95 % t interval. Both have the same number of "
    f"steps there. {RATES} The paper shows no loss."
)
NAMES = {FINE_TUNING: "pre-trained", ALONE: "from the beginning"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One panel, one line per part; tables["loss_curve"] with run, seed, part and corpus."""
    rows = tables["loss_curve"].dropna(subset="validation_nats_per_character")
    figure, axes = style.canvas(height=2.8, width=4.6)
    axis = axes[0, 0]
    for position, (part, name) in enumerate(NAMES.items()):
        line = curve(rows[rows["part"] == part], "validation_nats_per_character")
        half = line["high"] - line["mean"]
        axis.errorbar(
            line["step"],
            line["mean"],
            yerr=None if half.isna().all() else half,
            fmt="os"[position] + "-",
            markersize=3,
            capsize=2,
            color=style.NEUTRAL[position],
            label=name,
        )
    axis.set_title(", ".join(sorted(rows["corpus"].unique())))
    axis.set_xlabel("training step on this text")
    axis.set_ylabel("held-out loss (nats per character)")
    axis.legend(loc="upper right")
    return figure
