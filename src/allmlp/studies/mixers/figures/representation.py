"""Figures of how much of the input trained models keep, and of the speed of generation."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers.drawing import colour
from allmlp.studies.mixers.parts import of_base
from allmlp.studies.seeds import over_seeds

COLUMNS = {"step": "training steps", "d_model": "width, untrained", "n_blocks": "layers, untrained"}
ROWS = {"self": "whole layer", "non-self": "later positions only"}


@figure(
    "What the last hidden layer gives back", where="Language Mixer Basics", claims=["001-28", "001-own-9", "001-own-10"]
)
def recovery(recovery: pd.DataFrame) -> Figure:
    """Share of a text's tokens recovered by descent on its embeddings until the last hidden layer matches: above from
    the whole layer; below, the first half of the text from the layer at the positions of the second half, so that only
    what is passed between tokens counts. Against training steps and, for untrained weights, against width and depth.
    Lines: mean over seeds and 95 % t interval, at the best of a few rates for each model, chosen on other texts.
    Diamonds: a search over tokens, one after the other, in place of descent; it separates lost tokens from tokens that
    descent does not find. Tokens are read off as in the paper; the table gives the loss of this step even with the true
    embeddings.
    """
    found = panels(recovery)
    figure, axes = style.canvas(columns=len(found), rows=len(ROWS), height=2.1)
    for across, (x, rows) in enumerate(found.items()):
        for down, (way, name) in enumerate(ROWS.items()):
            axis = axes[down, across]
            _lines(axis, rows[rows["way"].eq(way) & rows["rates"].eq("searched")], x)
            if x == "step" and way == "self":
                _searched(axis, rows)
            if x != "step":
                plots.ticks(axis, sorted(rows[x].unique()), base=2)
            axis.set_xlabel(COLUMNS[x] if down == len(ROWS) - 1 else "")
            if across == 0:
                axis.set_ylabel(f"share of tokens\n{name}")
    plots.legend_below(figure, axes[0, :1], ncols=4)
    return figure


def _lines(axis: Axes, rows: pd.DataFrame, x: str) -> None:
    for position, (variant, of_variant) in enumerate(rows.groupby("variant", sort=True)):
        shares = over_seeds(of_variant, [x], "recovered_1")
        shares["high"] = shares["high"].fillna(shares["mean"])  # one seed: a bar of no length
        looks = {"marker": ".", "markersize": None, "label": variant}
        plots.bars(axis, shares, x, color=colour(str(variant), position), **looks)
    axis.set_ylim(-0.05, 1.05)


def _searched(axis: Axes, rows: pd.DataFrame) -> None:
    last = rows[rows["way"].eq("search") & rows["step"].eq(rows.groupby("run")["step"].transform("max"))]
    for position, (variant, of_variant) in enumerate(last.groupby("variant", sort=True)):
        x, y = of_variant["step"].mean(), of_variant["recovered_1"].mean()
        axis.scatter(x, y, s=26, marker="D", facecolor="none", edgecolor=colour(str(variant), position), zorder=3)


def panels(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Column of x -> its rows: training steps of the base size; untrained weights by width and depth where varied."""
    base = of_base(rows)
    width, depth = base["d_model"].iloc[0], base["n_blocks"].iloc[0]
    untrained = rows[rows["step"].eq(0) & rows["padding"].eq("right")]
    varied = {
        "step": base[base.groupby("run")["step"].transform("max").gt(0)],
        "d_model": untrained[untrained["n_blocks"].eq(depth)],
        "n_blocks": untrained[untrained["d_model"].eq(width)],
    }
    return {x: found for x, found in varied.items() if x == "step" or found[x].nunique() > 1}


WAYS = {"step_tokens_per_s": ("a step", "-"), "pass_tokens_per_s": ("a full pass", (0, (3, 2)))}


@figure("Speed of generation", where="Mixer Inference", claims=["001-29"], parts=["speed"])
def generation_speed(generation_speed: pd.DataFrame) -> Figure:
    """Tokens per second when continuing one sequence of that length, on one machine: solid with a memory of the tokens
    before (O(t d + d^2) per token and layer), dashed by a full pass over all of them, as in the paper. The weights are
    untrained, because their values do not change the time. Seconds hold for this machine only.
    """
    rows = generation_speed
    figure, ((axis,),) = style.canvas(height=2.8, width=5.5)
    for model, shade, of_model in plots.by_model(rows):
        for column, (way, line) in WAYS.items():
            means = of_model.groupby("length")[column].mean()
            axis.plot(means.index, means, color=shade, linestyle=line, marker=".", label=f"{model}, {way}")
    plots.ticks(axis, sorted(rows["length"].unique()), base=2)
    axis.set_yscale("log")
    first = rows.iloc[0]
    axis.set(xlabel=f"tokens read (width {first['d_model']}, {first['n_blocks']} layers)", ylabel="tokens per second")
    axis.legend()
    return figure
