"""Other sizes than the paper's: what training finds at each p and width (around 003-5)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.errors import naive_bound
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["scan"]
PAPER = ""  # the paper has one size
CLAIMS: list[str] = []
TITLE = "Other primes and widths"
CAPTION = (
    "Mean over seeds at each p and each number of hidden neurons (equal steps and seeds, see config/quadrature). "
    f"Accuracy over all p² pairs; frequencies that carry {FADING_SHARE:.0%} or more of the weight; |ψ - 2φ| over their "
    "neurons; largest error of the absolute part's sums, and the paper's bound on it, mean over frequencies. The "
    f"integral's mean size is {naive_bound(np.linspace(0, np.pi, 1000)):.2f}: a bound above it says nothing. Darker is "
    "more. Empty: no frequency."
)

PANELS = {  # column -> title, format
    "accuracy_1": ("accuracy (share of pairs)", "{:.3f}"),
    "frequencies": ("key frequencies", "{:.1f}"),
    "angle_error_rad": ("|ψ - 2φ| (rad)", "{:.3f}"),
    "abs_error_1": ("error of the sums (1)", "{:.3f}"),
    "total_bound_1": ("the paper's bound (1)", "{:.2f}"),
    "share_in_1": ("variance at its k (share)", "{:.3f}"),
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number, p down and width across; tables["scan"] with the labels part, p and d_mlp."""
    rows = tables["scan"]
    grid = rows[rows["part"] == "grid"]
    rows = grid if len(grid) else rows  # at a scale without a grid: its one size
    figure, axes = style.canvas(columns=3, rows=2, height=2.3)
    for axis, (column, (title, shown)) in zip(axes.flat, PANELS.items(), strict=True):
        _panel(axis, rows.pivot_table(index="p", columns="d_mlp", values=column, aggfunc="mean"), shown)
        axis.set_title(title)
    for axis in axes[:, 0]:
        axis.set_ylabel("p")
    for axis in axes[-1]:
        axis.set_xlabel("hidden neurons")
    return figure


def _panel(axis: Axes, cells: pd.DataFrame, shown: str) -> None:
    """Cells (p, width) as shades with their numbers."""
    axis.grid(False)
    axis.imshow(style.shades(cells), cmap="Greens", aspect="auto")
    middle = (cells.max().max() + cells.min().min()) / 2
    for y, (_, line) in enumerate(cells.iterrows()):
        for x, value in enumerate(line):
            if pd.notna(value):
                ink = "white" if value > middle else "black"
                axis.text(x, y, shown.format(value), ha="center", va="center", color=ink, fontsize=7)
    axis.set_xticks(range(len(cells.columns)), [str(width) for width in cells.columns])
    axis.set_yticks(range(len(cells.index)), [str(p) for p in cells.index])
