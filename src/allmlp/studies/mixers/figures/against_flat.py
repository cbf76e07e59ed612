"""Every model's held-out loss minus the flat mixer's, at equal steps, equal time and equal counted FLOPs."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval
from allmlp.studies.mixers.comparisons import AGAINST_FLAT, differences
from allmlp.studies.mixers.drawing import FAMILIES

MARGIN = 0.02  # nats, of claims.yaml; a test holds them together


@figure(
    "Who is ahead of the flat mixer, by what is held equal",
    where="tables and text of every section on training",
    claims=["001-7", "001-8", "001-10", "001-11", "001-15", "001-17", "001-18", "001-19", "001-20"],
    parts=["training"],
    values={"margin": MARGIN},
)
def against_flat(learning_curve: pd.DataFrame) -> Figure:
    """Held-out loss of each model minus that of the flat mixer of the same width, depth and padding, paired by seed:
    dots are seeds, bars their mean and 95 % t interval, not corrected for the number of rows. Left of 0 a model is
    ahead of the flat mixer. The grey band is the margin of {margin:g} nats, the smallest difference that the article
    itself reads as one. Both are read at what the one that stopped first had spent: in steps, in seconds on the same
    device, in counted operations; a row without a dot has runs that cannot be held equal so. The hybrid as published,
    where it was run, sees under left padding the tokens that it is to predict, so that its place here is no merit: the
    article's closing sentence, that hybrids are the most efficient models, does not follow from its own numbers, and
    its body retracts it (E001-10).
    """
    rows = differences(learning_curve)
    models = list(dict.fromkeys(rows["setting"]))
    figure, axes = style.canvas(columns=len(AGAINST_FLAT), height=max(1.6, 0.2 * len(models) + 0.9))
    shown = rows[list(AGAINST_FLAT)].to_numpy()
    shown = shown[np.isfinite(shown)]
    for axis, (unit, title) in zip(axes[0], AGAINST_FLAT.items(), strict=True):
        _panel(axis, rows, models, unit)
        axis.set_title(title)
        if len(shown):
            axis.set_xlim(min(shown.min(), -2 * MARGIN) * 1.08, max(shown.max(), 2 * MARGIN) * 1.08)
        axis.set_xlabel("nats per token")
        axis.set_yticks(range(len(models)), models if axis is axes[0, 0] else [])
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, models: list[str], unit: str) -> None:
    axis.axvspan(-MARGIN, MARGIN, color=style.PAPER, alpha=0.25, linewidth=0)
    axis.axvline(0, color="black", linewidth=0.8)
    for y, model in enumerate(models):
        of_model = rows[rows["setting"].eq(model)]
        values = of_model[unit].to_numpy()
        _, colour = FAMILIES.get(of_model["model"].iloc[0], ("", style.NEUTRAL[0]))
        axis.scatter(values, np.full(len(values), y), s=10, color=colour, alpha=0.5, linewidth=0)
        interval = t_interval(values)
        if not math.isnan(interval.mean):
            looks = {"marker": "|", "markersize": 8, "capsize": 2, "elinewidth": 1.0}
            plots.whisker(axis, y, interval, along="x", color=colour, **looks)
    axis.set_ylim(len(models) - 0.5, -0.5)
