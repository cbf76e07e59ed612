"""Figures of sizes, budgets and depth (000-1 to -4, 000-own-1)."""

import math

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.powers import format_plain
from allmlp.report.seeds import aggregate_seeds
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.language.isoflop import BUDGET, SIZE, exponents, minima, parabola, pool_seeds

BEYOND = 1.6  # a curve is drawn beyond the sizes tried by this factor
MARKS = {"inside": "D", "below": "<", "above": ">"}


@figure(
    "Loss against size at fixed budgets of compute",
    where="Figure 1, left",
    claims=["000-1", "000-2"],
    parts=["scaling"],
)
def isoflop(scaling: pd.DataFrame) -> Figure:
    """Loss on held-out documents at the end of training against the number of weights, embeddings among them, one
    colour per budget C = 6 N D of operations by the usual estimate, D the supervised targets. Dots are seeds. Curves
    are parabolas in log N through the means over seeds, dotted outside the sizes tried; with three sizes the fit is
    exact, and cannot be tested. Filled diamonds: a minimum inside the sizes tried. If the minimum lies outside, an open
    triangle at the edge points to it, and the power laws leave that budget out; without a mark the parabola has no
    minimum. Crosses: models that see their sequences more than once. The paper prints no values of its curves.
    """
    models = sorted(scaling["model"].unique(), reverse=True)  # the MLP first
    budgets = sorted(scaling[BUDGET].unique())
    colours = dict(zip(budgets, matplotlib.colormaps["viridis_r"](np.linspace(0.15, 1, len(budgets))), strict=True))
    figure, axes = style.canvas(columns=len(models), height=3.3)
    for axis in axes[0, 1:]:  # before drawing, so that all panels share the limits
        axis.sharex(axes[0, 0])
        axis.sharey(axes[0, 0])
    for axis, model in zip(axes[0], models, strict=True):
        for budget, cell in scaling[scaling["model"] == model].groupby(BUDGET):
            _budget(axis, cell, colours[budget], format_plain(budget))
        axis.set(xscale="log", xlabel="weights N", title=display(model))
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    order = [format_plain(budget) for budget in budgets]
    plots.add_legend(figure, axes[0], ncols=1, order=order, loc="outside right upper", title="C = 6 N D")
    return figure


def _budget(axes: Axes, rows: pd.DataFrame, colour: str, label: str) -> None:
    means = pool_seeds(rows)
    repeated = rows["epochs_1"] > 1
    for some, marker in ((rows[~repeated], "o"), (rows[repeated], "x")):
        axes.scatter(some[SIZE], some["validation_nats"], s=9, marker=marker, color=colour, alpha=0.6, linewidth=0.7)
    fit = parabola(means[SIZE], means["validation_nats"])
    side = minima(means)["side"].iloc[0]
    low, high = np.exp([fit.log_smallest, fit.log_largest])
    if side == "nowhere":
        axes.plot(means[SIZE], means["validation_nats"], color=colour, linewidth=0.8, linestyle=":", label=label)
        return
    within = np.geomspace(low, high, 60)
    axes.plot(within, fit(within), color=colour, label=label)
    for start, end in ((low / BEYOND, low), (high, high * BEYOND)):
        beyond = np.geomspace(start, end, 12)
        axes.plot(beyond, fit(beyond), color=colour, linestyle=":", linewidth=0.9)
    at = np.exp(np.clip(fit.log_vertex, fit.log_smallest, fit.log_largest))
    fill = colour if side == "inside" else "white"
    axes.scatter(at, fit(at), s=42, marker=MARKS[side], facecolor=fill, edgecolor=colour, zorder=3)


LINES = {
    "size": ("mlp_size_exponent_1", "hoffmann_size_exponent_1"),
    "data": ("mlp_data_exponent_1", "hoffmann_data_exponent_1"),
}  # the paper's exponent, and the one it compares with


@figure(
    "How the best size and the best amount of data grow with compute",
    where="Figure 1, centre and right",
    claims=["000-2"],
    parts=["scaling"],
)
def power_laws(scaling: pd.DataFrame, paper: Paper) -> Figure:
    """Vertex of the parabola in log N (left), and of one in the log of the supervised targets (right), of each seed and
    budget C = 6 N D. Only minima inside the sizes tried are drawn and fitted; the table of minima names the others.
    Lines: power laws through the geometric means of the drawn points. The exponents are means over seeds, with 95 % t
    intervals for several seeds; a seed with fewer than two such minima has no exponent. Grey: lines with the exponents
    that the paper prints (dashed, the same for both models) and quotes for longer sequences (dotted), through the
    middle of the MLP's points.
    """
    found = minima(scaling)
    laws = exponents(found)
    figure, axes = style.canvas(columns=2, height=3.6)
    panels = {"size": ("n_opt", "a", "best number of weights N"), "data": ("d_opt", "b", "best number of targets D")}
    for axis, (name, (column, letter, title)) in zip(axes[0], panels.items(), strict=True):
        inside = found[found["side"] == "inside"].dropna(subset=column)
        _paper(axis, inside[inside["model"] == "mlp"], column, [paper["000-2"][key] for key in LINES[name]])
        for position, model in enumerate(sorted(found["model"].unique(), reverse=True)):
            label = f"{display(model)}: {_exponent(letter, laws.loc[laws['model'] == model, f'{name}_1'])}"
            _model(axis, inside[inside["model"] == model], column, label, style.colour(model, position))
        plots.ticks(axis, sorted(found[BUDGET].unique()))
        axis.set(yscale="log", xlabel="budget C = 6 N D (operations)", ylabel=title)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1)
    return figure


def _exponent(letter: str, values: pd.Series) -> str:
    known = values.dropna()
    if known.empty:
        return "no two minima inside"
    interval = t_interval(known.to_numpy())
    ends = f" [{interval.low:.2f}, {interval.high:.2f}]" if math.isfinite(interval.low) else ""
    some = "" if len(known) == len(values) else f" ({len(known)} of {len(values)} seeds)"
    return f"{letter} = {interval.mean:.2f}{ends}{some}"


def _model(axes: Axes, inside: pd.DataFrame, column: str, label: str, colour: str) -> None:
    axes.scatter(inside[BUDGET], inside[column], s=14, color=colour, alpha=0.7, linewidth=0)
    logs = inside[[BUDGET, column]].apply(np.log).groupby(inside[BUDGET]).mean()
    ends = logs[BUDGET].agg(["min", "max"]).to_numpy()
    if len(logs) > 1:
        line = np.polynomial.Polynomial.fit(logs[BUDGET], logs[column], 1)
        axes.plot(np.exp(ends), np.exp(line(ends)), color=colour, label=label)
    else:
        axes.plot([], [], color=colour, marker="o", linestyle="", label=label)


def _paper(axes: Axes, inside: pd.DataFrame, column: str, values: list[float]) -> None:
    if inside.empty:
        return
    budgets = inside[BUDGET].agg(["min", "max"]).to_numpy(dtype=float)
    ends = budgets * [0.7, 1.4]
    middle = np.exp(inside[[BUDGET, column]].apply(np.log).mean())
    for value, dashes in zip(values, ((0, (4, 3)), (0, (1, 2))), strict=True):
        line = middle[column] * (ends / middle[BUDGET]) ** value
        axes.plot(ends, line, color=style.PAPER, linestyle=dashes, linewidth=1.1, label=f"paper: {value:g}")


@figure("The best loss against compute", where="Figure 3", claims=["000-3", "000-own-1"], parts=["scaling"])
def best_losses(scaling: pd.DataFrame) -> Figure:
    """Held-out loss of the best size tried for each budget. Left: against the budget C = 6 N D, which counts only the
    supervised targets. Right: against the counted operations of these runs, matrix products forward and backward at all
    positions. A GPT computes every position for one target, and no model multiplies by the embeddings that it looks up.
    Small dots are seeds, large ones and lines means over seeds (geometric in operations) with 95 % t intervals of the
    loss. The paper draws only the left panel and prints no values.
    """
    best = minima(scaling)
    figure, axes = style.canvas(columns=2, height=2.9)
    panels = {BUDGET: "budget C = 6 N D (operations)", "best_counted_flops": "operations of the best run, counted"}
    for axis, (x, title) in zip(axes[0], panels.items(), strict=True):
        for position, model in enumerate(sorted(best["model"].unique(), reverse=True)):
            _line(axis, best[best["model"] == model], x, display(model), style.colour(model, position))
        axis.set(xscale="log", xlabel=title)
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 0].set_ylabel("lowest held-out loss (nats per token)")
    axes[0, 0].legend()
    return figure


def _line(axes: Axes, best: pd.DataFrame, x: str, label: str, colour: str) -> None:
    axes.scatter(best[x], best["best_nats"], s=9, color=colour, alpha=0.5, linewidth=0)
    points = aggregate_seeds(best.assign(run=best["seed"]), [BUDGET], "best_nats")
    points[x] = np.exp(np.log(best[x]).groupby(best[BUDGET]).mean()).to_numpy()
    plots.bars(axes, points, x, color=colour, fmt="o-", markersize=4, elinewidth=1.0, label=label)


SHAPES = ["base", "deep", "wide"]


@figure("Depth against width", where="Section 3", claims=["000-4"], parts=["depth"])
def depth(scaling: pd.DataFrame) -> Figure:
    """Held-out loss at the end of training of three MLPs at one budget C = 6 N D and one embedding width. Lines join
    the runs of one seed; bars are means over seeds with 95 % t intervals. The first two have the same number of weights
    within 5 %; the third has twice the hidden width and therefore fewer targets. The paper says only that depth makes
    no large difference.
    """
    shapes = [shape for shape in SHAPES if shape in set(scaling["shape"])]
    first = scaling.drop_duplicates("shape").set_index("shape").loc[shapes]
    losses = scaling.pivot(index="seed", columns="shape", values="validation_nats")[shapes]
    figure, ((axis,),) = style.canvas(height=2.8, width=4.5)
    for _, of_seed in losses.iterrows():
        axis.plot(range(len(shapes)), of_seed, color=style.PAPER, marker="o", markersize=3, linewidth=0.7)
    for place, shape in enumerate(shapes):
        interval = t_interval(losses[shape].to_numpy())
        plots.whisker(axis, place, interval, color=style.COLOURS["mlp"], fmt="_", markersize=16, capsize=3)
    labels = [f"{one.n_blocks} blocks of {one.d_mlp}\n{one.parameters:,} weights" for one in first.itertuples()]
    axis.set_xticks(range(len(shapes)), labels)
    axis.set(
        xlim=(-0.5, len(shapes) - 0.5),
        ylabel="held-out loss (nats per token)",
        title=f"C = {format_plain(first['budget_flops'].iloc[0])}, embeddings of {first['d_model'].iloc[0]}",
    )
    return figure
