"""Training beside held-out loss: who learns its documents by heart."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.mixers.drawing import FAMILIES, colour
from allmlp.studies.mixers.parts import BASE, TRAINING
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds

MEASURES = ["learning_curve"]
PARTS = [TRAINING]
PAPER = "two losses of every table"
CLAIMS = ["001-own-4"]
TITLE = "Training and held-out loss"
CAPTION = (
    "Left: loss on training batches (dashed; mean of the last batches, each before its update) and on held-out "
    "documents (solid) against training steps, mean over seeds and 95 % t interval. Right: held-out minus training "
    "loss at the last step that all models have, over the held-out loss there; a dot is a model, its mean over seeds. "
    "Where an early GPT was run, its training loss has its dropout in it."
)

SHOWN = ("flat", "kernel-4", "llama-4")


def _curves(axes: Axes, rows: pd.DataFrame) -> None:
    for position, variant in enumerate(name for name in SHOWN if name in set(rows["variant"])):
        of_model, shade = rows[rows["variant"].eq(variant)], colour(variant, position)
        for column, line in (("validation_nats", "-"), ("train_nats", "--")):
            points = over_seeds(of_model, ["step"], column)
            label = variant if column == "validation_nats" else None
            axes.fill_between(points["step"], points["low"], points["high"], color=shade, alpha=0.15, linewidth=0)
            axes.plot(points["step"], points["mean"], line, color=shade, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("training step")
    axes.set_ylabel("loss (nats per token)")
    axes.legend()


def _gaps(axes: Axes, rows: pd.DataFrame) -> None:
    common = set.intersection(*(set(of_model["step"]) for _, of_model in rows.groupby("variant")))
    at_last = rows[rows["step"].eq(max(common))]
    for variant in sorted(at_last["variant"].unique()):
        of_model = at_last[at_last["variant"].eq(variant)]
        _, shade = FAMILIES.get(of_model["model"].iloc[0], ("", style.NEUTRAL[0]))
        loss, gap = of_model["validation_nats"].mean(), (of_model["validation_nats"] - of_model["train_nats"]).mean()
        axes.scatter(loss, gap, s=16, color=shade)
        axes.annotate(variant, (loss, gap), xytext=(3, 2), textcoords="offset points", fontsize=6)
    axes.set_xlabel(f"held-out loss at step {max(common)}")
    axes.set_ylabel("held-out minus training loss")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two panels; tables["learning_curve"] with the runs' labels."""
    rows = of_part(tables["learning_curve"], TRAINING)
    rows = rows[rows["size"].eq(BASE) & rows["padding"].eq("right") & rows["step"].gt(0)]
    figure, axes = style.canvas(columns=2, height=3.2)
    _curves(axes[0, 0], rows)
    _gaps(axes[0, 1], rows)
    return figure
