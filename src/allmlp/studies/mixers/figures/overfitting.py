"""Training beside held-out loss, and how far apart they are."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers.drawing import FAMILIES, colour
from allmlp.studies.mixers.parts import TRAINING, of_base
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds

SHOWN = ("flat", "kernel-4", "llama-4")


@figure("Training and held-out loss", where="two losses of every table", claims=["001-own-4"], parts=[TRAINING])
def overfitting(learning_curve: pd.DataFrame) -> Figure:
    """Left: loss on training batches (dashed; mean of the last batches, each before its update) and on held-out
    documents (solid) against training steps, mean over seeds and 95 % t interval. Right: held-out minus training loss
    at the last step that all models have, mean over seeds and 95 % t interval; models from the lowest held-out loss
    there to the highest, a colour for each family of them. Where an early GPT was run, its training loss has its
    dropout in it.
    """
    rows = of_base(of_part(learning_curve, TRAINING))
    rows = rows[rows["step"].gt(0)]
    figure, axes = style.canvas(columns=2, height=3.2)
    _curves(axes[0, 0], rows)
    _gaps(axes[0, 1], rows)
    return figure


def _curves(axis: Axes, rows: pd.DataFrame) -> None:
    for position, variant in enumerate(name for name in SHOWN if name in set(rows["variant"])):
        of_model, shade = rows[rows["variant"].eq(variant)], colour(variant, position)
        for column, line, split in (("validation_nats", "-", "held out"), ("train_nats", "--", "training")):
            points = over_seeds(of_model, ["step"], column)
            plots.band(axis, points, color=shade, shade=0.15, linestyle=line, label=f"{variant}, {split}")
    axis.set_xscale("log")
    axis.set_xlabel("training step")
    axis.set_ylabel("loss (nats per token)")
    axis.legend()


def _gaps(axis: Axes, rows: pd.DataFrame) -> None:
    common = set.intersection(*(set(of_model["step"]) for _, of_model in rows.groupby("variant")))
    at_last = rows[rows["step"].eq(max(common))].assign(gap_nats=lambda of: of["validation_nats"] - of["train_nats"])
    by_loss = at_last.groupby("variant")["validation_nats"].mean().sort_values().index
    gaps = over_seeds(at_last, ["variant", "model"], "gap_nats").set_index("variant").loc[by_loss]
    for place, (_, gap) in enumerate(gaps.iterrows()):
        _, shade = FAMILIES.get(gap["model"], ("", style.NEUTRAL[0]))
        axis.plot([gap["low"], gap["high"]], [place, place], color=shade, linewidth=1)
        axis.plot(gap["mean"], place, "o", color=shade, markersize=4)
    axis.set_yticks(range(len(gaps)), list(gaps.index), fontsize=6)
    axis.invert_yaxis()
    axis.set_xlabel(f"held-out minus training loss\n(nats per token), step {max(common)}")
