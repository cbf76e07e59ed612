"""The table of Section 4 as a figure: errors and bounds of key frequencies beside the paper's (003-5, 003-own-1)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.statistics import t_interval
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["error_table"]
PAPER = "Table in Section 4"
CLAIMS = ["003-5", "003-6", "003-own-1"]
TITLE = "Quadrature errors and their bounds"
CAPTION = (
    f"Small points: the key frequencies of each seed, without those of less than {FADING_SHARE:.0%} of "
    "the weight, which are fading out. Large points: mean over a seed's frequencies, then over seeds, "
    "with its 95 % t interval. Grey: the paper's four frequencies, and for the two terms of its bound "
    "the one that it gives them for. box: the smaller of the bounds over the whole and half the "
    "period; total: box and angle, the paper's bound. moment and peak have no partner in the paper: "
    "from the Fourier moments of the phases, angle term included, valid at every angle; sum of the "
    "sizes of the terms, and largest size of their sum. naive: mean size of the absolute part's "
    "integral, which by its definition is not the paper's number (E003-7). Widths sum to 2π; "
    "logarithmic axis."
)

COLOUR = style.colour("constant-attention")
TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
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


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Points over categories; tables["error_table"] with run and seed, tables["paper"]."""
    rows = tables["error_table"]
    rows = rows[rows["weight_share_1"] >= FADING_SHARE]
    rows = rows.assign(least_box_1=rows[["box_bound_1", "folded_bound_1"]].min(axis=1))
    figure, axes = style.canvas(height=3.2, width=7.2)
    axis = axes[0, 0]
    for position, (column, claim, start) in enumerate(BARS.values()):
        paper = tables["paper"]
        printed = paper[(paper["claim"] == claim) & paper["key"].str.startswith(start)]["value"]
        _category(axis, position, rows, column, printed.to_numpy(dtype=float))
    axis.set_yscale("log")
    smallest = rows[["abs_error_1", "identity_error_1", "angle_bound_1"]].to_numpy().min()
    axis.set_ylim(bottom=0.7 * smallest)  # else an interval that reaches 0 would stretch the axis
    bottom, top = axis.get_ylim()
    ticks = [tick for tick in TICKS if bottom <= tick <= top]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks(range(len(BARS)), list(BARS))
    axis.set_ylabel("error of an integral (1)")
    axis.set_title(f"{rows['run'].nunique()} runs, {len(rows)} key frequencies")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _category(axes: Axes, position: int, rows: pd.DataFrame, column: str, printed: np.ndarray) -> None:
    def label(text: str) -> str:
        return text if position == 0 else "_nolegend_"

    axes.hlines(
        printed,
        position - 0.4,
        position + 0.4,
        color=style.PAPER,
        linestyle="--",
        linewidth=1.2,
        label=label("paper"),
    )
    values = rows.sort_values(["seed", "frequency"])[column]
    spread = np.linspace(-0.28, -0.08, len(values)) if len(values) > 1 else [-0.18]
    axes.plot(
        position + np.asarray(spread),
        values,
        ".",
        color=COLOUR,
        alpha=0.6,
        markersize=4,
        label=label("a key frequency"),
    )
    interval = t_interval(rows.groupby("seed")[column].mean().to_numpy())
    half = [[interval.half_width]] * 2 if np.isfinite(interval.half_width) else None
    axes.errorbar(
        position + 0.15,
        interval.mean,
        yerr=half,
        fmt="o",
        color=COLOUR,
        markersize=6,
        capsize=3,
        label=label("mean over seeds"),
    )
