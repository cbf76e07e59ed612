"""Figures of loss and perplexity: over training, against context, and of DCT-MLPs beside GPT-2s (000-5, -13, -14)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter

from allmlp.judging.rules import part_rows
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds, curve
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.language.crossings import BOTH, DCT, GPT, crossings
from allmlp.studies.language.parts import select_variations


@figure("Loss over training", parts=["neurons"])
def loss(loss_curve: pd.DataFrame) -> Figure:
    """Training loss of each batch before its update (line) and loss on held-out documents (points) against training
    step; mean over seeds and 95 % t interval. If the corpus is drawn from a grammar, the black dotted line is its exact
    entropy, a lower bound for every model. The paper shows no such curve.
    """
    figure, ((axis,),) = style.canvas(height=3.2, width=5.5)
    for model, colour, rows in plots.group_by_model(loss_curve):
        plots.band(axis, curve(rows, "loss_nats"), color=colour, linewidth=1.0, label=f"{display(model)}, training")
        held_out = curve(rows, "validation_nats")
        if len(held_out):
            label = f"{display(model)}, held out"
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
    rows = select_variations(cost[cost["part"] == "variation"], "context")
    points = aggregate_seeds(rows.assign(perplexity=np.exp(rows["validation_nats"])), ["context"], "perplexity")
    plots.band(left, points, "context", color=style.colour("mlp"), marker="o", label=display("mlp"))
    left.set_ylabel("perplexity (logarithmic)")
    _scale_perplexity(left)
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


PANELS = {"weights": "weights outside embeddings", "n_blocks": "blocks", "operations": "operations of training"}
EQUAL, MORE = ("-", "o"), ("--", "s")  # line styles: equal data, and more data for the DCT-MLP
FAR = 2  # a floor further below the best model than this factor would press all lines together


@figure(
    "Perplexity of the DCT-MLP beside a transformer",
    where="Figure 9",
    claims=["000-13", "000-own-6", "000-own-7"],
    parts=["perplexity"],
)
def perplexity(perplexity: pd.DataFrame) -> Figure:
    """Perplexity per token on held-out documents at the end of training against weights outside the embeddings, blocks,
    and counted operations of the whole training (matrix products, forward and backward). All models have one width and
    differ in depth. Dots are seeds, lines means over seeds with 95 % t intervals. Solid: equal data; dashed: the
    DCT-MLP with more. If the text is drawn from a grammar, the black dotted line is the perplexity of its exact
    entropy, a lower bound for every model; if it is far below all models, only the legend gives it. The paper's text
    gives no numbers of its figure; its context, width and data are far larger.
    """
    rows = part_rows(perplexity, "perplexity", models=BOTH)
    figure, axes = style.canvas(columns=3, height=3.0)
    floors, best = sorted(rows["floor_perplexity_1"].dropna().unique()), rows["perplexity_1"].min()
    for axis, (x, title) in zip(axes[0], PANELS.items(), strict=True):
        for model in (GPT, DCT):
            for _, line in rows[rows["model"] == model].groupby("data"):
                _line(axis, line, x, model, int(line["data"].iloc[0]))
        for floor in floors:
            near = floor * FAR > best
            label, at, dots = ("entropy", floor, ":") if near else (f"entropy: {floor:.3g}, not drawn", np.nan, "")
            axis.axhline(at, color="black", linestyle=dots, label=label)
        _scales(axis, logarithmic=x != "n_blocks")
        axis.set_xlabel(title)
    for axis in axes[0, 1:]:
        axis.sharey(axes[0, 0])
        axis.tick_params(labelleft=False)
    axes[0, 0].set_ylabel("perplexity per token (logarithmic)")
    plots.add_legend(figure, [axes[0, 0]], ncols=4)
    return figure


def _line(axes: Axes, rows: pd.DataFrame, x: str, model: str, data: int) -> None:
    colour, (dash, marker) = style.colour(model), EQUAL if data == 1 else MORE
    label = display(model) if data == 1 else f"{display(model)}, {data} times the data"
    axes.scatter(rows[x], rows["perplexity_1"], s=7, marker=marker, color=colour, alpha=0.4, linewidth=0)
    plots.bars(axes, aggregate_seeds(rows, [x], "perplexity_1"), x, fmt=dash + marker, color=colour, label=label)


def _scale_perplexity(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _scales(axes: Axes, logarithmic: bool) -> None:
    _scale_perplexity(axes)
    if not logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(NullFormatter())


SIDES = {"low": "v", "high": "^"}
PRINTED: dict[str, Any] = {"fontsize": style.SMALLEST, "color": "#6a6a6a"}
KEYS = {1: "parameters_ratio_1", 3: "parameters_ratio_more_data_1"}  # the paper's, by times the data


@figure(
    "Size of a DCT-MLP over that of the transformer it equals",
    where="Section 5.2, Figure 9",
    claims=["000-13", "000-own-6", "000-own-7"],
    parts=["perplexity"],
)
def dct_ratios(perplexity: pd.DataFrame, paper: Paper) -> Figure:
    """Size of the DCT-MLP with the perplexity of a GPT-2, divided by the GPT-2's size, against the blocks of the GPT-2.
    Size is the number of weights outside the embeddings, or of counted operations of training; loss is interpolated
    linearly in the logarithm of the size. Dots are seeds, lines means over seeds with 95 % t intervals. Open triangles:
    the smallest DCT-MLP tried is still better (pointing down: the ratio is lower), or the largest is still worse
    (pointing up: it is higher). Grey: the paper's ratios at equal data and with more data, at a far larger context and
    with far more data.
    """
    rows = part_rows(perplexity, "perplexity", models=BOTH)
    figure, axes = style.canvas(columns=2, height=2.9)
    depths = sorted(rows.loc[rows["model"] == GPT, "n_blocks"].unique())
    multiples = sorted(rows.loc[rows["model"] == DCT, "data"].unique())
    for axis, size in zip(axes[0], ("weights", "operations"), strict=True):
        for position, data in enumerate(multiples):
            _points(axis, crossings(rows, int(data), size), int(data), 0.06 * position)
        if size == "weights":
            for data in set(KEYS) & set(multiples):
                printed = paper["000-13"][KEYS[data]]
                style.mark_paper(axis, np.log2(printed))
                of = "equal data" if data == 1 else f"{data} times the data"
                axis.text(depths[-1], np.log2(printed), f"paper, {of}: {printed:g}", ha="right", va="bottom", **PRINTED)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xscale("log", base=2)
        axis.set_xticks(depths, [f"{depth:g}" for depth in depths])
        axis.yaxis.set_major_locator(MultipleLocator(1))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{2.0**value:g}"))
        axis.set(xlabel="blocks of the GPT-2", ylabel=f"{size},\nDCT-MLP over GPT-2")
    plots.add_legend(figure, [axes[0, 0]], ncols=3)
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
    plots.bars(axes, aggregate_seeds(found, ["x"], "log2"), "x", fmt="-" if filled else "--", color=colour, label=label)
