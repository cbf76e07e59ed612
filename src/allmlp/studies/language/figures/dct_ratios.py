"""How many times the transformer's size a DCT-MLP of equal perplexity has (000-13)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.language.crossings import BOTH, DCT, GPT, crossings
from allmlp.studies.parts import of_part
from allmlp.studies.seeds import over_seeds

SIDES = {"low": "v", "high": "^"}
KEYS = {1: "parameters_ratio_1", 3: "parameters_ratio_more_data_1"}  # the paper's, by times the data


@figure(
    "Size of a DCT-MLP over that of the transformer it equals",
    where="Section 5.2, Figure 9",
    claims=["000-13", "000-own-6", "000-own-7"],
    parts=["perplexity"],
)
def dct_ratios(perplexity: pd.DataFrame, paper: Paper) -> Figure:
    """Weights outside the embeddings, and counted operations of training, of the DCT-MLP whose perplexity is that of a
    GPT-2 of so many blocks, over the GPT-2's own; loss interpolated linearly in the logarithm of the size. Dots are
    seeds, lines means over seeds with 95 % t intervals. Open triangles: even the smallest DCT-MLP tried is better
    (pointing down: the ratio is lower) or even the largest is worse (pointing up: it is higher). Grey: the paper's
    ratios at equal data and with more, at a context and with data far beyond these.
    """
    rows = of_part(perplexity, "perplexity", models=BOTH)
    figure, axes = style.canvas(columns=2, height=2.9)
    depths = sorted(rows.loc[rows["model"] == GPT, "n_blocks"].unique())
    multiples = sorted(rows.loc[rows["model"] == DCT, "data"].unique())
    for axis, size in zip(axes[0], ("weights", "operations"), strict=True):
        for position, data in enumerate(multiples):
            _points(axis, crossings(rows, int(data), size), int(data), 0.06 * position)
        if size == "weights":
            style.mark_paper(axis, [np.log2(paper["000-13"][key]) for data, key in KEYS.items() if data in multiples])
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xscale("log", base=2)
        axis.set_xticks(depths, [f"{depth:g}" for depth in depths])
        axis.yaxis.set_major_locator(MultipleLocator(1))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{2.0**value:g}"))
        axis.set_xlabel("blocks of the GPT-2")
        axis.set_ylabel(f"{size}, DCT-MLP over GPT-2")
    plots.legend_below(figure, [axes[0, 0]], ncols=3)
    return figure


def _points(axes: Axes, found: pd.DataFrame, data: int, shift: float) -> None:
    found = found.assign(x=found["n_blocks"] * 2**shift, run=found["seed"])
    colour, filled = style.colour(DCT), data == 1
    inside = found[found["censored"] == ""]
    face = colour if filled else "white"
    axes.scatter(inside["x"], inside["log2"], s=9, color=face, edgecolor=colour, linewidth=0.7)
    for side, marker in SIDES.items():
        beyond = found[found["censored"] == side]
        axes.scatter(beyond["x"], beyond["log2"], s=20, marker=marker, facecolor="none", edgecolor=colour)
    label = "equal data" if filled else f"{data} times the data"
    plots.bars(axes, over_seeds(found, ["x"], "log2"), "x", fmt="-" if filled else "--", color=colour, label=label)
