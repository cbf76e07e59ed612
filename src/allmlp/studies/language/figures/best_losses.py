"""Best loss against compute, counted in two ways, which decide who wins (000-3, 000-own-1)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.isoflop import BUDGET, minima
from allmlp.studies.seeds import over_seeds


@figure("The best loss against compute", where="Figure 3", claims=["000-3", "000-own-1"], parts=["scaling"])
def best_losses(scaling: pd.DataFrame) -> Figure:
    """Held-out loss of the best size tried for each budget: on the left against the budget C = 6 N D, which counts the
    supervised targets alone, on the right against the operations that these runs need, counted: matrix products,
    forward and backward, at all positions. A GPT computes every position for one target, and no model multiplies by the
    embeddings that it looks up. Small dots are seeds, large ones and lines means over seeds (geometric in operations)
    with 95 % t intervals of the loss. The paper draws the left panel only and prints no value.
    """
    best = minima(scaling)
    figure, axes = style.canvas(columns=2, height=2.9)
    panels = {BUDGET: "budget C = 6 N D (operations)", "best_counted_flops": "operations of the best run, counted"}
    for axis, (x, title) in zip(axes[0], panels.items(), strict=True):
        for position, model in enumerate(sorted(best["model"].unique(), reverse=True)):
            _line(axis, best[best["model"] == model], x, model, style.colour(model, position))
        axis.set_xscale("log")
        axis.set_xlabel(title)
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 0].set_ylabel("lowest held-out loss (nats per token)")
    axes[0, 0].legend()
    return figure


def _line(axes: Axes, best: pd.DataFrame, x: str, label: str, colour: str) -> None:
    axes.scatter(best[x], best["best_nats"], s=9, color=colour, alpha=0.5, linewidth=0)
    points = over_seeds(best.assign(run=best["seed"]), [BUDGET], "best_nats")
    points[x] = np.exp(np.log(best[x]).groupby(best[BUDGET]).mean()).to_numpy()
    plots.bars(axes, points, x, color=colour, fmt="o-", markersize=4, elinewidth=1.0, label=label)
