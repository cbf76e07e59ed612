"""Training and validation loss of the language study's runs (000-5)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve

MEASURES = ["loss_curve"]
PARTS = ["neurons"]
PAPER = ""  # the paper shows no loss over training
CLAIMS: list[str] = []
TITLE = "Loss over training"
CAPTION = (
    "Training loss of each batch before its update (line) and loss on held-out documents (points) against "
    "training step; mean over seeds and 95 % t interval. Where the corpus is drawn from a grammar, the black "
    "dotted line is its exact entropy, below which no model can stay. The paper shows no such curve."
)


def _architecture(axes: Axes, rows: pd.DataFrame, model: str, position: int) -> None:
    colour = style.colour(model, position)
    train = curve(rows, "loss_nats")
    axes.fill_between(train["step"], train["low"], train["high"], color=colour, alpha=0.2, linewidth=0)
    axes.plot(train["step"], train["mean"], color=colour, linewidth=1.0, label=f"{model}, training")
    held_out = rows.dropna(subset="validation_nats")
    if len(held_out):
        points = curve(held_out, "validation_nats")
        half = points["high"] - points["mean"]
        axes.errorbar(
            points["step"],
            points["mean"],
            yerr=half,
            fmt="o",
            markersize=4,
            color=colour,
            label=f"{model}, held out",
        )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Loss over steps; tables["loss_curve"] with run, seed and perhaps model and floor_nats."""
    rows = tables["loss_curve"]
    models = rows["model"]
    figure, axes = style.canvas(height=3.2, width=5.5)
    for position, model in enumerate(sorted(models.unique())):
        _architecture(axes[0, 0], rows[models == model], model, position)
    for position, floor in enumerate(sorted(rows["floor_nats"].dropna().unique())):
        label = None if position else "entropy of the grammar"
        axes[0, 0].axhline(floor, color="black", linestyle=":", linewidth=1.2, label=label)
    axes[0, 0].set_xscale("symlog", linthresh=10)
    axes[0, 0].set_xlim(left=0)
    axes[0, 0].set_xlabel("training step (logarithmic)")
    axes[0, 0].set_ylabel("cross-entropy (nats per token)")
    axes[0, 0].legend()
    return figure
