"""Errors and their bounds: the table of Section 4, the moment bound term by term, and their costs (003-5 to -8)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.quadrature import bounds, errors, moments, operations
from allmlp.studies.quadrature.example import Example, heaviest_keys
from allmlp.studies.quadrature.frequencies import FADING_SHARE
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND

COLOUR = style.colour("constant-attention")

ERRORS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
BARS = {  # label -> our column, and the paper's claim and keys
    "absolute\nerror": ("abs_error_1", "003-5", "abs_error_k"),
    "identity\nerror": ("identity_error_1", "003-5", "identity_error_k"),
    "box\nbound": ("least_box_1", "003-6", "quadrature_bound"),
    "angle\nterm": ("angle_bound_1", "003-6", "angle_bound"),
    "total\nbound": ("total_bound_1", "003-5", "total_bound_k"),
    "moment\nbound": ("moment_bound_1", "003-own-1", "moment_bound"),
    "peak\nbound": ("peak_bound_1", "003-own-1", "peak_bound"),
    "naive\nbound": ("naive_bound_1", "003-5", "naive_bound"),
}


@figure(
    "Quadrature errors and their bounds",
    where="Table in Section 4",
    claims=["003-5", "003-6", "003-own-1"],
    values={"fading": FADING_SHARE},
)
def error_bars(error_table: pd.DataFrame, paper: Paper) -> Figure:
    """Small points: key frequencies of each seed, except those with less than {fading:.0%} of the weight, which are
    fading out. Large points: mean over a seed's frequencies, then over seeds, with 95 % t interval. Grey: the paper's
    four frequencies; the two terms of its bound are given for one of them. box: the smaller of the bounds over the
    whole and half the period; total: box and angle, the paper's bound. moment and peak are bounds of this project from
    the Fourier moments of the phases, angle term included, valid at every angle: sum of the terms' sizes, and largest
    size of their sum. naive: mean size of the absolute part's integral; by its definition it differs from the paper's
    number (E003-7). Widths sum to 2π; logarithmic axis.
    """
    rows = error_table[error_table["weight_share_1"] >= FADING_SHARE]
    rows = rows.assign(least_box_1=rows[["box_bound_1", "folded_bound_1"]].min(axis=1))
    figure, ((axis,),) = style.canvas(height=3.2, width=7.2)
    for position, (column, claim, start) in enumerate(BARS.values()):
        printed = [value for key, value in paper[claim].items() if key.startswith(start)]
        _bar(axis, position, rows, column, printed)
    axis.set_yscale("log")
    smallest = rows[["abs_error_1", "identity_error_1", "angle_bound_1"]].to_numpy().min()
    axis.set_ylim(bottom=0.7 * smallest)  # an interval that reaches 0 would stretch the axis
    bottom, top = axis.get_ylim()
    ticks = [tick for tick in ERRORS if bottom <= tick <= top]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks(range(len(BARS)), list(BARS))
    axis.set(ylabel="error of an integral (1)", title=f"{rows['run'].nunique()} runs, {len(rows)} key frequencies")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _bar(axes: Axes, x: int, rows: pd.DataFrame, column: str, printed: list[float]) -> None:
    named = ["paper", "a key frequency", "mean over seeds"] if x == 0 else ["_nolegend_"] * 3
    axes.hlines(printed, x - 0.4, x + 0.4, color=style.PAPER, linestyle="--", linewidth=1.2, label=named[0])
    values = rows.sort_values(["seed", "frequency"])[column]
    spread = np.linspace(-0.28, -0.08, len(values)) if len(values) > 1 else np.array([-0.18])
    axes.plot(x + spread, values, ".", color=COLOUR, alpha=0.6, markersize=4, label=named[1])
    interval = t_interval(rows.groupby("seed")[column].mean().to_numpy())
    plots.whisker(axes, x + 0.15, interval, fmt="o", color=COLOUR, markersize=6, capsize=3, label=named[2])


DEGREES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
BOUNDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
GRID = np.linspace(0, np.pi, 4001)  # |cos| has period pi


@figure("A bound from Fourier moments, term by term", claims=["003-own-1"], values={"terms": 2 * moments.TERMS + 1})
def moment_bound(neurons: pd.DataFrame) -> Figure:
    """Up to four key frequencies of the first seed, the heaviest. Solid: sum of the sizes of the error's Fourier terms
    |m| ≤ M, plus the tail 4 / (2M + 1). Dashed: largest size of their sum, plus the same tail. Both hold at every real
    angle and contain the angle term. Black: largest error over a grid of angles. Orange: the paper's bound, boxes and
    angle term. Vertical: the {terms} terms used elsewhere; dotted: the number of terms at which the solid bound takes
    as many multiplications and comparisons as brute force over all p sums. Logarithmic axes. The paper has no such
    bound.
    """
    keys = heaviest_keys(neurons, most=4, at_least=FADING_SHARE)
    figure, axes = style.canvas(columns=2, rows=(len(keys) + 1) // 2, height=2.4)
    panels, unused = axes.flat[: len(keys)], axes.flat[len(keys) :]
    for axis, key in zip(panels, keys, strict=True):
        _terms(axis, key)
        axis.set_title(key.title)
    for axis in unused:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("error of an integral (1)")
    low, high = (end(axis.get_ylim()[i] for axis in panels) for i, end in ((0, min), (1, max)))
    ticks = [tick for tick in BOUNDS if low <= tick <= high]
    for axis in panels:
        axis.set(ylim=(low, high), xlabel="terms 2M + 1")
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    plots.add_legend(figure, panels[:1], ncols=3)
    return figure


def break_even_terms(p: int, neurons: int) -> int:
    """The largest number of terms with no more operations than brute force over p sums; at least 3."""
    allowed, M = operations.brute_force(p, neurons).operations, 1
    while operations.moment_bound(neurons, M + 1).operations <= allowed:
        M += 1
    return 2 * M + 1


def _terms(axes: Axes, key: Example) -> None:
    rule = key.rule
    count = [2 * M + 1 for M in DEGREES]
    for bound, line, label in ((moments.moment_bound, "-", "moment bound"), (moments.peak_bound, "--", "peak bound")):
        axes.plot(count, [bound(rule, M) for M in DEGREES], line, color=COLOUR, label=label)
    axes.axhline(bounds.total_bound(rule), color=style.NEUTRAL[1], linewidth=1.2, label="the paper's bound")
    axes.axhline(errors.largest_error("abs", GRID, rule), color="black", linewidth=1.0, label="largest error")
    axes.axvline(2 * moments.TERMS + 1, color="black", linewidth=0.6, label="terms used")
    dear = break_even_terms(key.p, len(rule.phi))
    axes.axvline(dear, color="black", linewidth=0.8, linestyle=":", label="cost of brute force")
    axes.set(xscale="log", yscale="log")


PROCEDURES = dict(zip((PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND), style.NEUTRAL, strict=False))
STATED = {  # the paper's exponents: procedure -> by p, by neurons
    PAPER_BOUND: {"p": 0, "neurons": 1},
    BRUTE_FORCE: {"p": 1, "neurons": 1},
}
VALUES = {"operations_1": "operations (1)", "time_s": "time (s)"}


@figure(
    "Cost of the bounds and of brute force",
    where="Section 4",
    claims=["003-8"],
    values={"p": operations.P, "timed_from": operations.TIMED_FROM, "terms": 2 * moments.TERMS + 1},
)
def bound_cost(bound_cost: pd.DataFrame) -> Figure:
    """Top: multiplications and comparisons, counted exactly. Bottom: time on one core, the shortest of several. Left:
    over p, at the number of neurons in the title. Right: over the neurons of one frequency, at p = {p}. In brackets:
    the growth exponent by least squares through the logarithms; of time over neurons only from {timed_from:,} on,
    because NumPy's overhead per call hides it below. Grey: the growth that the paper states for its bound and for brute
    force, from the first fitted point. A bound saves operations only where its line lies below that of brute force. The
    moment bound has {terms} terms. Brute force takes one cosine per sum and neuron; cosines count in the time, not in
    the operations.
    """
    figure, axes = style.canvas(columns=2, rows=2, height=2.9)
    lines = {"p": operations.rows_over_p(bound_cost), "neurons": operations.rows_over_neurons(bound_cost)}
    for row, (value, unit) in zip(axes, VALUES.items(), strict=True):
        for axis, (by, shown) in zip(row, lines.items(), strict=True):
            _costs(axis, shown, by, value)
            axis.set_ylabel(unit)
    axes[0, 0].set_title(f"{int(lines['p']['neurons'].iloc[0])} neurons")
    axes[0, 1].set_title(f"p = {operations.P}")
    for axis, label in zip(axes[1], ("p", "neurons of one frequency"), strict=True):
        axis.set_xlabel(label)
    return figure


def _costs(axes: Axes, rows: pd.DataFrame, by: str, value: str) -> None:
    for procedure, colour in PROCEDURES.items():
        line = rows[rows["procedure"] == procedure]
        used = operations.fitted_rows(line, by, value)
        slope = operations.exponent(used, by, value)
        axes.plot(line[by], line[value], "o-", markersize=3, color=colour, label=f"{procedure} ({slope:.2f})")
        if procedure in STATED:
            start = used.iloc[0]
            guide = start[value] * (used[by] / start[by]) ** STATED[procedure][by]
            axes.plot(used[by], guide, color=style.PAPER, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1)
    axes.plot([], [], color=style.PAPER, linestyle=(0, (4, 3)), label="growth as the paper states")
    axes.set(xscale="log", yscale="log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** 0.55)  # room for the legend
    ticks = sorted(rows[by].unique())[:: 1 if by == "p" else 3]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=style.SMALLEST, loc="upper left", title="(measured exponent)", title_fontsize=style.SMALLEST)
