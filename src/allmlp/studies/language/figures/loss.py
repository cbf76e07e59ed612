"""Training and validation loss of the language study's runs (000-5)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.seeds import curve


@figure("Loss over training", parts=["neurons"])
def loss(loss_curve: pd.DataFrame) -> Figure:
    """Training loss of each batch before its update (line) and loss on held-out documents (points) against training
    step; mean over seeds and 95 % t interval. Where the corpus is drawn from a grammar, the black dotted line is its
    exact entropy, below which no model can stay. The paper shows no such curve.
    """
    figure, ((axis,),) = style.canvas(height=3.2, width=5.5)
    for model, colour, rows in plots.by_model(loss_curve):
        plots.band(axis, curve(rows, "loss_nats"), color=colour, linewidth=1.0, label=f"{model}, training")
        held_out = curve(rows, "validation_nats")
        if len(held_out):
            label = f"{model}, held out"
            plots.bars(axis, held_out, fmt="o", markersize=4, capsize=0, color=colour, label=label)
    plots.floors(axis, loss_curve["floor_nats"], "entropy of the grammar")
    plots.steps(axis)
    axis.set_ylabel("cross-entropy (nats per token)")
    axis.legend()
    return figure
