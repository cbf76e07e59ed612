"""Perplexity and number of weights of the MLP against its context (000-14)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.report import style
from allmlp.studies.language.drawing import line
from allmlp.studies.language.parts import along
from allmlp.studies.seeds import over_seeds

MEASURES = ["cost", "context_parameters"]
PARTS = ["variation", "untrained"]
PAPER = "Figure 10"
CLAIMS = ["000-14"]
TITLE = "Perplexity and size against context"
CAPTION = (
    "Left: perplexity on held-out documents after the last step against the context length, all else as in the base "
    "run; mean over seeds and 95 % t interval. Right: weights outside the embeddings at the paper's width, counted "
    "from the model as it is built here (no training), and in grey the paper's line, T d² and a constant. The paper "
    "prints no perplexity as a number."
)


def _powers(axis: Axes, values: list[int]) -> None:
    axis.set_xscale("log", base=2)
    # 16 after 15 would be written over it
    apart = [value for value, before in zip(values, [0, *values], strict=False) if value > 1.2 * before]
    axis.set_xticks(values, [f"{value:g}" if value in apart else "" for value in values])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("context T (tokens)")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """tables["cost"] of variations, tables["context_parameters"], tables["paper"]."""
    figure, axes = style.canvas(columns=2, height=2.7)
    left, right = axes[0]
    rows = along(tables["cost"][tables["cost"]["part"] == "variation"], "context")
    points = over_seeds(rows.assign(perplexity=np.exp(rows["validation_nats"])), ["context"], "perplexity")
    line(left, points, "context", style.colour("mlp"), marker="o", label="mlp")
    _powers(left, sorted(points["context"]))
    left.set_ylabel("perplexity")
    counts = tables["context_parameters"].query("reading == 'all'").drop_duplicates("context")
    right.plot(counts["context"], counts["parameters"] / 1e6, color=style.colour("mlp"), marker="o", label="as built")
    paper = tables["paper"].set_index(["claim", "key"])["value"]
    constant = float(paper["000-14", "constant_parameters_millions"])
    growth = np.polyfit(counts["context"], counts["parameters"] / 1e6, 1)[0]
    claimed = constant + growth * counts["context"]
    right.plot(counts["context"], claimed, color=style.PAPER, linestyle="--", label="the paper: T d² and a constant")
    _powers(right, sorted(counts["context"]))
    right.set_ylabel("weights (millions)")
    right.legend()
    return figure
