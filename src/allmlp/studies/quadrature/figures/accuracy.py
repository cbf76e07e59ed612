"""Accuracy and margin over all pairs during training: the network that is read here does add (003-5)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve

MEASURES = ["accuracy"]
PAPER = ""  # the paper does not show its training
CLAIMS: list[str] = []
TITLE = "Accuracy and margin over training"
CAPTION = (
    "Left: share of all p² pairs, the held-out ones included, whose largest logit is the right sum. "
    "Right: the right logit minus the largest other one, mean over all pairs and at the worst pair; "
    "above 0 (black) every sum is right. Mean over seeds and 95 % t interval, at the steps whose "
    "weights were kept. The paper shows no such curve."
)

COLOUR = style.colour("constant-attention")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Curves over steps; tables["accuracy"] with run and seed."""
    rows = tables["accuracy"]
    figure, axes = style.canvas(columns=2, height=2.7)
    for axis, lines in (
        (axes[0, 0], [("accuracy_1", "all pairs", "-")]),
        (axes[0, 1], [("mean_margin_nats", "mean", "-"), ("smallest_margin_nats", "worst pair", ":")]),
    ):
        for column, label, dashes in lines:
            line = curve(rows, column)
            axis.fill_between(line["step"], line["low"], line["high"], color=COLOUR, alpha=0.2, linewidth=0)
            axis.plot(line["step"], line["mean"], dashes, color=COLOUR, marker="o", markersize=3, label=label)
        axis.set_xscale("symlog", linthresh=10)
        axis.set_xlim(left=0)
        axis.set_xlabel("training steps (logarithmic)")
    axes[0, 0].set_ylabel("accuracy (share of pairs)")
    axes[0, 1].set_ylabel("margin (nats)")
    axes[0, 1].axhline(0, color="black", linewidth=0.8)
    axes[0, 1].legend()
    return figure
