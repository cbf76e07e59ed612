"""Held-out loss of text runs in bits per byte against steps, one line per model (002-7)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve

MEASURES = ["text_curve"]
PAPER = "Figure 6, left"
CLAIMS = ["002-7", "002-own-2"]
TITLE = "Learning text by characters"
CAPTION = (
    "Loss on held-out documents in bits per byte of text against training steps: the whole training, and its end "
    "enlarged; mean over seeds and 95 % t interval, paired between models, which see the same batches. Faint: the "
    "loss of each training batch before its update, mean over seeds. Where the text is drawn from a grammar, the "
    "black dotted line is its exact entropy, below which no model can stay. All models have the same width and the "
    "same number of blocks; where the relation has the width of the others' feed-forward layer, as in the paper, they "
    "have nearly the same number of weights too. The paper shows a drawing without numbers of training losses on "
    "WikiText-103, so there is no grey mark."
)

FIRST_OF_END = 0.2  # the second panel begins at this share of the steps
STYLES = ("o-", "s--", "^-.")  # lines may lie upon each other


def _lines(axes: Axes, rows: pd.DataFrame, position: int, model: str) -> None:
    colour = style.colour(model, position)
    batches = curve(rows, "training_bits_per_byte")
    axes.plot(batches["step"], batches["mean"], color=colour, alpha=0.3, linewidth=0.6)
    held_out = curve(rows, "validation_bits_per_byte")
    half = held_out["high"] - held_out["mean"]
    axes.errorbar(
        held_out["step"],
        held_out["mean"],
        yerr=None if half.isna().all() else half,
        fmt=STYLES[position % len(STYLES)],
        markersize=3,
        capsize=2,
        color=colour,
        label=model,
    )


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for position, model in enumerate(sorted(rows["model"].unique())):
        _lines(axes, rows[rows["model"] == model], position, model)
    for position, floor in enumerate(sorted(rows["floor_bits_per_byte"].dropna().unique())):
        label = None if position else "entropy of the grammar"
        axes.axhline(floor, color="black", linestyle=":", linewidth=1.2, label=label)
    axes.set_xlabel("training step")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two panels; tables["text_curve"] with run, seed, model and corpus."""
    rows = tables["text_curve"]
    last = float(rows["step"].max())
    figure, axes = style.canvas(columns=2, height=3.2)
    whole, end = axes[0]
    for panel in (whole, end):
        _panel(panel, rows)
    whole.set_xscale("symlog", linthresh=10)
    whole.set_xlim(0, 1.1 * last)
    whole.set_ylim(bottom=0)
    whole.set_xlabel("training step (logarithmic)")
    whole.set_ylabel("loss (bits per byte)")
    whole.set_title(", ".join(sorted(rows["corpus"].unique())))
    end.set_xlim(FIRST_OF_END * last, 1.02 * last)
    shown = rows.loc[rows["step"] >= FIRST_OF_END * last, "validation_bits_per_byte"]
    end.set_ylim(0.97 * shown.min(), 1.03 * shown.max())
    end.set_title("its end")
    handles, labels = whole.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure
