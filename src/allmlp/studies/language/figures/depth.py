"""Depth against width at equal compute: two blocks, six of as many weights, two of twice the width (000-4)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.statistics import t_interval

MEASURES = ["scaling"]
PARTS = ["depth"]
PAPER = "Section 3"
CLAIMS = ["000-4"]
TITLE = "Depth against width"
CAPTION = (
    "Held-out loss at the end of training of three MLPs at one budget C = 6 N D and embedding width: lines join the "
    "runs of one seed, bars are means over seeds with 95 % t intervals. The first two have the same number of "
    "weights within 5 %; the third has twice the hidden width and fewer targets for it. The paper says only that "
    "depth makes no large difference."
)

SHAPES = ["base", "deep", "wide"]


def _said(rows: pd.DataFrame) -> str:
    one = rows.iloc[0]
    return f"{one['n_blocks']} blocks of {one['d_mlp']}\n{one['parameters']:,} weights"


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One panel; tables["scaling"] with seed, shape, n_blocks, d_mlp."""
    rows = tables["scaling"]
    shapes = [shape for shape in SHAPES if shape in set(rows["shape"])]
    losses = rows.pivot(index="seed", columns="shape", values="validation_nats")[shapes]
    figure, axes = style.canvas(height=2.8, width=4.5)
    axis, places = axes[0, 0], np.arange(len(shapes))
    for _, of_seed in losses.iterrows():
        axis.plot(places, of_seed, color=style.PAPER, marker="o", markersize=3, linewidth=0.7)
    for place, shape in zip(places, shapes, strict=True):
        interval = t_interval(losses[shape].to_numpy())
        half = interval.half_width if np.isfinite(interval.half_width) else 0.0
        axis.errorbar(place, interval.mean, yerr=half, color=style.COLOURS["mlp"], fmt="_", markersize=16, capsize=3)
    axis.set_xticks(places, [_said(rows[rows["shape"] == shape]) for shape in shapes])
    axis.set_xlim(-0.5, len(shapes) - 0.5)
    axis.set_ylabel("held-out loss (nats per token)")
    axis.set_title(f"C = {rows['budget_flops'].iloc[0]:.2g}, embeddings of {rows['d_model'].iloc[0]}")
    return figure
