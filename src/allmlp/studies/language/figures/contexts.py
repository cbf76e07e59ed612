"""Perplexity and number of weights of the MLP against its context (000-14)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.language.parts import along
from allmlp.studies.seeds import over_seeds


@figure("Perplexity and size against context", where="Figure 10", claims=["000-14"], parts=["variation", "untrained"])
def contexts(cost: pd.DataFrame, context_parameters: pd.DataFrame, paper: Paper) -> Figure:
    """Left: perplexity on held-out documents after the last step against the context length, all else as in the base
    run; mean over seeds and 95 % t interval. Right: weights outside the embeddings at the paper's width, counted from
    the model as it is built here (no training), and in grey the paper's line, T d² and a constant. The paper prints no
    perplexity as a number.
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
