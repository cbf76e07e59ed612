"""Figures of the runs on strings: learning, ablations, sweeps, and where CausalRN is faster."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds, curve
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.copying.convergence import plateau
from allmlp.studies.copying.parts import PUBLISHED, add_operations, one_head_rows, variants

ROWS = {"loss_nats": "loss (nats per token)"} | {f"{of}_accuracy_1": f"{of} accuracy" for of in ("token", "string")}
SMALL = 1e-3  # nats: where the logarithmic axis of a loss ends
ZOOM = 0.25  # of the steps: the paper's zoom leaves out 500 of 2,000
POINTS = 160  # steps drawn per metric, shared by the string lengths: the file stays small


@figure("Learning to copy", where="Figure 3", claims=["002-4"], parts=["comparison"], also=["long"])
def learning_curves(learning_curve: pd.DataFrame) -> Figure:
    """Loss, accuracy over tokens and accuracy over whole strings on each training batch before its update, which is on
    strings never seen before, against iterations; one column per string length; mean over seeds and 95 % t interval.
    Black dotted: the plateau, the loss of guessing the letters. Bottom row: the loss after the first quarter on a
    logarithmic axis, where the paper enlarges it. A line ends where one of its seeds diverged. The paper shows strings
    of 128 as a drawing without numbers, so there is no grey mark.
    """
    lengths = sorted(learning_curve["string_length"].unique())
    figure, axes = style.canvas(columns=len(lengths), rows=len(ROWS) + 1, height=1.9)
    for across, length in enumerate(lengths):
        of_length, height = learning_curve[learning_curve["string_length"] == length], plateau(int(length))
        for axis, (column, label) in zip(axes[:-1, across], ROWS.items(), strict=True):
            for model, colour, rows in plots.group_by_model(of_length):
                plots.band(axis, _thin_line(curve(rows, column), len(lengths)), color=colour, label=display(model))
            axis.set_ylim(*((0, 1.25 * height) if column == "loss_nats" else (-0.02, 1.02)))
            axis.set_ylabel(label if across == 0 else "")
        axes[0, across].axhline(height, color="black", linestyle=":", linewidth=1.0, label="plateau")
        axes[0, across].set_title(f"{length} letters")
        _draw_late(axes[-1, across], of_length, len(lengths))
        axes[-1, across].set_ylim(SMALL, 1.25 * height)
        axes[-1, across].set_xlabel("iteration")
    axes[-1, 0].set_ylabel("loss (logarithmic)")
    plots.add_legend(figure, [axes[0, 0]], ncols=3)
    return figure


def _thin_line(line: pd.DataFrame, lengths: int) -> pd.DataFrame:
    kept = np.linspace(0, len(line) - 1, POINTS // lengths).round().astype(int)
    return line.iloc[np.unique(kept)]


def _draw_late(axis: Axes, rows: pd.DataFrame, lengths: int) -> None:
    """The loss of each model after the first quarter of the steps."""
    late = rows[rows["step"] >= ZOOM * rows["step"].max()]
    for _, colour, of_model in plots.group_by_model(late):
        plots.band(axis, _thin_line(curve(of_model, "loss_nats"), lengths), color=colour)
    axis.set_yscale("log")


DODGE = 0.04  # the factor that sets models at one string length side by side
BEYOND = 1.4  # the axis ends at this factor above the largest budget, for the arrows


@figure("Iterations to 99 % accuracy", where="Figure 4", claims=["002-5"], parts=["comparison"], also=["long"])
def iterations_to_99(iterations_to_99: pd.DataFrame, paper: Paper) -> Figure:
    """First iteration with 99 % of the tokens of a batch right, against string length. Dots are seeds, bars their mean
    and 95 % t interval if every seed reached it. Open triangles are runs that did not reach it within the budget, drawn
    at the budget with their number. Models are drawn side by side for legibility. Grey: from this string length on the
    paper's Linear CausalRN does not reach it; its other values are drawn without numbers.
    """
    rows = iterations_to_99
    figure, ((axis,),) = style.canvas(width=5.5, height=3.6)
    models, lengths = sorted(rows["model"].unique()), sorted(rows["string_length"].unique())
    for position, (model, colour, of_model) in enumerate(plots.group_by_model(rows)):
        shift = 1 + DODGE * (position - (len(models) - 1) / 2)
        _model(axis, of_model.assign(x=of_model["string_length"] * shift), model, colour)
    if not rows["reached"].all():
        axis.scatter([], [], s=28, marker="^", facecolor="none", edgecolor="black", label="not within the budget")
    fails = paper["002-5"]["linear_fails_from_tokens"]
    if fails <= lengths[-1]:
        style.mark_paper(axis, fails, along="x", label="paper: Linear CausalRN fails from here on")
    plots.ticks(axis, lengths, base=2)
    axis.set(yscale="log", xlim=(lengths[0] * 0.8, lengths[-1] * 1.25))
    axis.set_ylim(max(1, rows["iterations"].min()) * 0.7, rows["budget"].max() * BEYOND)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.set(xlabel="string length (letters)", ylabel="iterations to 99 % token accuracy")
    plots.add_legend(figure, [axis], ncols=3, order=list(map(display, models)))
    return figure


def _model(axes: Axes, rows: pd.DataFrame, model: str, colour: str) -> None:
    arrived, censored = rows[rows["reached"].astype(bool)], rows[~rows["reached"].astype(bool)]
    axes.scatter(arrived["x"], arrived["iterations"], s=10, color=colour, alpha=0.6, linewidth=0)
    at = censored.groupby("x", sort=False).agg(budget=("budget", "first"), count=("run", "size"))
    axes.scatter(at.index, at["budget"], s=28, marker="^", facecolor="none", edgecolor=colour)
    for x, budget, count in at.itertuples():
        arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 4, "shrinkB": 0}
        tip = budget * BEYOND**0.6
        axes.annotate("", (x, tip), (x, budget), arrowprops=arrow)
        axes.text(x, tip, str(count), color=colour, fontsize=8, ha="center", va="bottom")
    complete = rows[rows.groupby("x")["reached"].transform("all")]
    means = aggregate_seeds(complete, ["x"], "iterations")
    half = means["high"] - means["mean"]  # nan keeps a bar in the legend where no mean has one
    looks: dict[str, Any] = {"color": colour, "marker": "_", "markersize": 9, "linewidth": 0.7, "label": display(model)}
    axes.errorbar(means["x"], means["mean"], yerr=half, capsize=2, elinewidth=1.0, **looks)


PANELS = {
    "after the reduction": ["no-post-norm"],
    "before the activation": ["approximate-pre-norm", "no-pre-norm"],
    "activation": ["relu", "elu"],
}
POINTS_OF_VARIANT = 120  # steps drawn per line: the file stays small


@figure(
    "What each part of CausalRN is for",
    where="Figure 2",
    claims=["002-1", "002-2", "002-3"],
    parts=["comparison", "ablation"],
)
def ablations(learning_curve: pd.DataFrame) -> Figure:
    """Loss on each training batch before its update, against iterations, of CausalRN as published and with one part
    changed: left without the norm after the reduction, in the middle with the approximate norm before the activation or
    none, right with another activation. Mean over seeds and 95 % t interval. Black dotted: the plateau, the loss of
    guessing the letters. Variants that this scale leaves out are not drawn.
    """
    rows = variants(learning_curve)
    there = set(rows["variant"])
    panels = {title: [name for name in names if name in there] for title, names in PANELS.items()}
    panels = {title: names for title, names in panels.items() if names}
    height = plateau(int(rows["string_length"].iloc[0]))
    figure, axes = style.canvas(columns=len(panels), height=2.8)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for name in [PUBLISHED, *names]:
            line, colour = curve(rows[rows["variant"] == name], "loss_nats"), style.colour(name)
            plots.band(axis, line.iloc[:: max(1, len(line) // POINTS_OF_VARIANT)], color=colour, label=display(name))
        axis.axhline(height, color="black", linestyle=":", linewidth=1.0)
        axis.set(title=title, xlabel="iteration", ylim=(0, 1.2 * height))
    axes[0, 0].set_ylabel("loss (nats per token)")
    plots.add_legend(figure, axes[0], ncols=2)
    return figure


PAIR = ["causal-rn", "transformer"]
CELL = ["part", "string_length", "d_model", "n_blocks", "learning_rate"]
MARKERS = {(True, True): "o", (True, False): ">", (False, True): "<", (False, False): "x"}  # which of PAIR reached 99 %


@figure(
    "Where CausalRN is faster",
    where="Figure 4",
    claims=["002-own-1", "002-own-4", "002-5"],
    parts=["comparison", "grid"],
    also=["long"],
)
def faster(falls: pd.DataFrame, cost: pd.DataFrame) -> Figure:
    """Iterations (left) and counted operations (right) that the Transformer needs to reach 99 % of the tokens, over
    those of CausalRN, by string length, width, depth and learning rate. Right of 1 CausalRN is faster. Dots are seeds,
    bars their mean and 95 % t interval (not corrected for the number of rows). Triangles: one of the two did not reach
    99 % in this seed and counts with its budget. Pointing right: the Transformer did not, and the true ratio is larger.
    Pointing left: CausalRN did not, and it is smaller. A cross: neither did.
    """
    cells = [cell for _, cell in ratios(falls, cost).groupby(CELL)]
    figure, axes = style.canvas(columns=2, height=max(1.6, 0.22 * len(cells) + 0.9))
    for axis, column in zip(axes[0], ("iterations", "operations"), strict=True):
        _axis(axis, cells, column)
        axis.set_ylim(len(cells) - 0.5, -0.5)
    labels = [
        f"{c.string_length} letters, width {c.d_model}, {c.n_blocks} blocks, rate {c.learning_rate:g}"
        for c in (cell.iloc[0] for cell in cells)
    ]
    axes[0, 0].set_yticks(range(len(cells)), labels)
    axes[0, 1].set_yticks(range(len(cells)), [])
    return figure


def ratios(falls: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """One row per cell and seed: log2 of the Transformer's iterations and operations over CausalRN's, who arrived."""
    rows = add_operations(falls, cost)
    rows = rows[rows["model"].isin(PAIR)]
    wide = rows.pivot(index=[*CELL, "seed"], columns="model", values=["iterations", "operations", "reached"]).dropna()
    log2 = {
        name: np.log2((wide[name, "transformer"] / wide[name, "causal-rn"]).astype(float))
        for name in ("iterations", "operations")
    }
    arrived = {model: wide["reached", model].astype(bool) for model in PAIR}
    return pd.DataFrame({**log2, **arrived}).reset_index()


def _axis(axes: Axes, cells: list[pd.DataFrame], column: str) -> None:
    axes.axvline(0, color="black", linewidth=0.8)
    for y, cell in enumerate(cells):
        for arrived, marker in MARKERS.items():
            seeds = cell[(cell[PAIR[0]] == arrived[0]) & (cell[PAIR[1]] == arrived[1])]
            colour, places = style.COLOURS["causal-rn"], np.full(len(seeds), y)
            axes.scatter(seeds[column], places, s=12, marker=marker, color=colour, alpha=0.6, linewidth=0.8)
        interval = t_interval(cell[column].to_numpy())
        plots.whisker(axes, y, interval, along="x", color="black", marker="|", markersize=8, capsize=2, elinewidth=1.0)
    ticks = np.arange(math.floor(axes.get_xlim()[0]), math.ceil(axes.get_xlim()[1]) + 1)
    axes.set_xticks(ticks, [f"{2.0**tick:g}" for tick in ticks])
    plots.align_end_labels(axes)
    axes.set_xlabel(f"Transformer's {column}\nover CausalRN's")


@figure("Learning rates and heads", where="Appendix D", claims=["002-10"], parts=["sweep", "heads"])
def sweeps(falls: pd.DataFrame, paper: Paper) -> Figure:
    """First step below half the plateau against the learning rate of both models, and against the number of the
    Transformer's heads at the comparison's rate. Dots are seeds used for nothing else, lines their mean with 95 % t
    intervals. Open triangles: not within the budget. The paper found one rate and one number of heads best at its own
    width and depth, drawn in grey.
    """
    sweep, heads, printed = part_rows(falls, "sweep"), one_head_rows(falls), paper["002-10"]
    figure, ((left, right),) = style.canvas(columns=2, height=2.8)
    for model, _, rows in plots.group_by_model(sweep):
        _line(left, rows, "learning_rate", model)
        if rate := printed.get(f"best_rate_{model.replace('-', '_')}_1"):
            left.axvline(rate, color=style.PAPER, linestyle=(0, (4, 3)), linewidth=1.0)
            left.text(
                rate, 0, f" {display(model)}", color=style.PAPER, fontsize=style.SMALLEST, rotation=90, va="bottom"
            )
    _finish(left, sorted(sweep["learning_rate"].unique()), "learning rate", 10)
    _line(right, heads, "n_heads", "transformer")
    style.mark_paper(right, printed["best_heads_count"], along="x")
    _finish(right, sorted(heads["n_heads"].unique()), "heads", 2)
    left.set_ylabel("steps to half the plateau")
    return figure


def _line(axes: Axes, rows: pd.DataFrame, by: str, model: str) -> None:
    colour = style.colour(model)
    fell = rows["fell_to_half"].astype(bool)
    axes.scatter(rows.loc[fell, by], rows.loc[fell, "to_half_steps"], s=8, color=colour, alpha=0.5, linewidth=0)
    late = rows[~fell]
    axes.scatter(late[by], late["to_half_steps"], s=24, marker="^", facecolor="none", edgecolor=colour)
    means = aggregate_seeds(rows, [by], "to_half_steps")
    plots.bars(axes, means, by, color=colour, elinewidth=1.0, label=display(model))


def _finish(axes: Axes, values: list[float], label: str, base: int) -> None:
    plots.ticks(axes, values, base=base)
    axes.set(xlabel=label, ylim=(0, None))
    axes.legend(loc="best")
