"""Figures of the loss over training, and of loss and size against context (000-5, 000-14)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.language.parts import along
from allmlp.studies.seeds import curve, over_seeds


@figure("Loss over training", parts=["neurons"])
def loss(loss_curve: pd.DataFrame) -> Figure:
    """Training loss of each batch before its update (line) and loss on held-out documents (points) against training
    step; mean over seeds and 95 % t interval. If the corpus is drawn from a grammar, the black dotted line is its exact
    entropy, a lower bound for every model. The paper shows no such curve.
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


@figure("Perplexity and size against context", where="Figure 10", claims=["000-14"], parts=["variation", "untrained"])
def contexts(cost: pd.DataFrame, context_parameters: pd.DataFrame, paper: Paper) -> Figure:
    """Left: perplexity on held-out documents after the last step against the context length, all else as in the base
    run; mean over seeds and 95 % t interval. Right: weights outside the embeddings at the paper's width, counted on the
    model as built here (no training); grey: the paper's line, T d² plus a constant. The paper prints no perplexity as a
    number.
    """
    figure, ((left, right),) = style.canvas(columns=2, height=2.7)
    rows = along(cost[cost["part"] == "variation"], "context")
    points = over_seeds(rows.assign(perplexity=np.exp(rows["validation_nats"])), ["context"], "perplexity")
    plots.band(left, points, "context", color=style.colour("mlp"), marker="o", label="mlp")
    left.set_ylabel("perplexity")
    counts = context_parameters.query("reading == 'all'").drop_duplicates("context")
    right.plot(counts["context"], counts["parameters"] / 1e6, color=style.colour("mlp"), marker="o", label="as built")
    growth = np.polyfit(counts["context"], counts["parameters"] / 1e6, 1)[0]
    claimed = paper["000-14"]["constant_parameters_millions"] + growth * counts["context"]
    right.plot(counts["context"], claimed, color=style.PAPER, linestyle="--", label="the paper: T d² and a constant")
    for axis, tried in ((left, points["context"]), (right, counts["context"])):
        plots.ticks(axis, sorted(tried), base=2, apart=1.2)
        axis.set_xlabel("context T (tokens)")
    right.set_ylabel("weights (millions)")
    right.legend()
    return figure
