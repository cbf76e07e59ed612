"""A map of all first-layer neurons by where they have their energy, without thresholds."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.exhibits import figure
from allmlp.studies.language.concentration import RECENT
from allmlp.studies.language.drawing import MOMENTS


@figure("Where neurons have their energy", where="Section 4.1", claims=["000-5", "000-6"], parts=["neurons"])
def energy_map(energy_map: pd.DataFrame, explained_energy: pd.DataFrame) -> Figure:
    """Each first-layer neuron of every seed by the share of its energy in the last three rows (across) and by what one
    constant explains in all rows before them (up), at the start, half and end of training. On the diagonal a window and
    a constant explain all: n-gram neurons of up to three tokens lie at its right end, bag-of-words neurons at the grey
    square, their sums between. Grey cross: random weights. The map has no threshold, and the paper none such. Below:
    the share of energy that the last n rows and one constant before them explain, median over neurons (line) and the
    range of nine in ten (area), means over seeds; grey: random weights.
    """
    context = int(explained_energy["window_rows"].max()) + 1
    figure, axes = style.canvas(columns=len(MOMENTS), rows=2, height=2.5)
    for (above, below), moment in zip(axes.T, MOMENTS, strict=True):
        at = energy_map[energy_map["moment"] == moment]
        _map(above, at, context)
        above.set_title(f"{moment} (step {at['step'].max():,})")
        _explained(below, explained_energy[explained_energy["moment"] == moment])
    axes[0, 0].set_ylabel("energy of one constant before")
    axes[1, 0].set_ylabel("energy explained")
    return figure


def _map(axes: Axes, rows: pd.DataFrame, context: int) -> None:
    looks: dict[str, Any] = {"color": style.colour("mlp"), "alpha": 0.4, "linewidth": 0, "rasterized": True}
    axes.scatter(rows["recent_energy_1"], rows["constant_energy_1"], s=5, **looks)
    axes.plot([0, 1], [1, 0], color="black", linewidth=0.8)
    axes.plot(RECENT / context, 1 / context, marker="x", color=style.PAPER, linestyle="none")
    axes.plot(RECENT / context, 1 - RECENT / context, marker="s", color=style.PAPER, linestyle="none")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("energy of the last 3 rows")


def _explained(axes: Axes, rows: pd.DataFrame) -> None:
    means, colour = rows.groupby(["window_rows", "quantile_1"])["explained_1"].mean().unstack(), style.colour("mlp")
    axes.fill_between(means.index, means.iloc[:, 0], means.iloc[:, -1], color=colour, alpha=0.3, linewidth=0)
    axes.plot(means.index, means.iloc[:, len(means.columns) // 2], color=colour, marker="o", markersize=3)
    chance = rows.groupby("window_rows")["by_chance_1"].first()
    axes.plot(chance.index, chance, color=style.PAPER, linestyle="--")
    axes.set_xlim(0, means.index.max())
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("n, rows in the window")
