"""Where CausalRN learns to copy before the Transformer, in iterations and in operations (002-own-1, own-4)."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval
from allmlp.studies.copying.parts import with_operations

PAIR = ["causal-rn", "transformer"]
CELL = ["part", "string_length", "d_model", "n_blocks", "learning_rate"]
MARKERS = {(True, True): "o", (True, False): ">", (False, True): "<", (False, False): "x"}  # who of PAIR arrived


@figure(
    "Where CausalRN is faster",
    where="Figure 4",
    claims=["002-own-1", "002-own-4", "002-5"],
    parts=["comparison", "grid"],
    also=["long"],
)
def faster(falls: pd.DataFrame, cost: pd.DataFrame) -> Figure:
    """What the Transformer needs to reach 99 % of the tokens over what CausalRN needs, by string length, width, depth
    and learning rate: iterations on the left, counted operations on the right. Right of 1 CausalRN is faster. Dots are
    seeds, bars their mean and 95 % t interval (not corrected for the number of rows). Triangles: a seed where one of
    the two did not arrive and entered with its budget; pointing right the Transformer did not and the true ratio is
    larger, pointing left CausalRN did not and it is smaller; a cross: neither did.
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
    rows = with_operations(falls, cost)
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
    axes.set_xlabel(f"ratio of {column}")
