"""Tokens per second against length: with a memory, and by a full pass per token as published (001-29)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure

WAYS = {"step_tokens_per_s": ("a step", "-"), "pass_tokens_per_s": ("a full pass", (0, (3, 2)))}


@figure("Speed of generation", where="Mixer Inference", claims=["001-29"], parts=["speed"])
def generation_speed(generation_speed: pd.DataFrame) -> Figure:
    """Tokens per second when one sequence of that length is written on, on one machine: solid with what the model
    remembers of the tokens before (O(t d + d^2) per token and layer), dashed by a full pass over all of them, as the
    paper generates. Untrained weights, whose values alter no time. Seconds belong to the machine that took them.
    """
    rows = generation_speed
    figure, ((axis,),) = style.canvas(height=2.8, width=5.5)
    for model, colour, of_model in plots.by_model(rows):
        for column, (way, line) in WAYS.items():
            means = of_model.groupby("length")[column].mean()
            axis.plot(means.index, means, color=colour, linestyle=line, marker=".", label=f"{model}, {way}")
    plots.ticks(axis, sorted(rows["length"].unique()), base=2)
    axis.set_yscale("log")
    first = rows.iloc[0]
    axis.set_xlabel(f"tokens read (width {first['d_model']}, {first['n_blocks']} layers)")
    axis.set_ylabel("tokens per second")
    axis.legend()
    return figure
