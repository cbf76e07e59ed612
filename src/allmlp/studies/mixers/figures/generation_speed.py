"""Tokens per second against length: with a memory, and by a full pass per token as published (001-29)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.report import style

MEASURES = ["generation_speed"]
PARTS = ["speed"]
PAPER = "Mixer Inference"
CLAIMS = ["001-29"]
TITLE = "Speed of generation"
CAPTION = (
    "Tokens per second when one sequence of that length is written on, on one machine: solid with what the model "
    "remembers of the tokens before (O(t d + d^2) per token and layer), dashed by a full pass over all of them, as "
    "the paper generates. Untrained weights, whose values alter no time. Seconds belong to the machine that took "
    "them."
)

WAYS = {"step_tokens_per_s": ("a step", "-"), "pass_tokens_per_s": ("a full pass", (0, (3, 2)))}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One line per model and way; tables["generation_speed"] with the runs' labels."""
    rows = tables["generation_speed"]
    figure, axes = style.canvas(height=2.8, width=5.5)
    axis = axes[0, 0]
    for position, (model, of_model) in enumerate(rows.groupby("model", sort=True)):
        for column, (said, line) in WAYS.items():
            means = of_model.groupby("length", as_index=False)[column].mean()
            colour = style.colour(str(model), position)
            axis.plot(
                means["length"], means[column], color=colour, linestyle=line, marker=".", label=f"{model}, {said}"
            )
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    lengths = sorted(rows["length"].unique())
    axis.set_xticks(lengths, [str(length) for length in lengths])
    axis.xaxis.set_minor_locator(NullLocator())
    first = rows.iloc[0]
    axis.set_xlabel(f"tokens read (width {first['d_model']}, {first['n_blocks']} layers)")
    axis.set_ylabel("tokens per second")
    axis.legend(fontsize=8)
    return figure
