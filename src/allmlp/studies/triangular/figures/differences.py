"""How much each variant differs from the model as published, early and at the end, paired by seed (004-2 to -5)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval
from allmlp.studies.triangular.parts import COMPARISON, RATES_OF_VARIANTS
from allmlp.studies.triangular.runs.settings import PUBLISHED

COLUMNS = {"early_nats": "early (mean over the first quarter)", "end_nats": "at the end"}


@figure(
    "What each variant costs",
    where="Sections 2 and 3",
    claims=["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"],
    parts=[COMPARISON],
    values={"rates": RATES_OF_VARIANTS},
)
def differences(learning: pd.DataFrame) -> Figure:
    """Held-out loss of each variant minus that of the model as published (two triangles, averaging mask, sine) of the
    same size and seed, nats per token: mean over the tested steps of the first quarter, and after the last step.
    Points: seeds; bars: mean and 95 % t interval. Right of zero the model as published is better. {rates}
    """
    base = learning[learning["variant"] == PUBLISHED].set_index("seed")
    names = [name for name in sorted(learning["variant"].unique()) if name != PUBLISHED]
    figure, axes = style.canvas(columns=2, height=0.7 + 0.28 * max(3, len(names)))
    for axis, (column, title) in zip(axes[0], COLUMNS.items(), strict=True):
        against = learning[column] - learning["seed"].map(base[column])
        for position, name in enumerate(names):
            values, colour = against[learning["variant"] == name], style.NEUTRAL[position % len(style.NEUTRAL)]
            axis.plot(values, np.full(len(values), position), "o", markersize=2.5, alpha=0.5, color=colour)
            interval = t_interval(values.to_numpy())
            plots.whisker(axis, position, interval, along="x", fmt="D", markersize=4, capsize=3, color=colour)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), names if axis is axes[0, 0] else [""] * len(names))
        axis.set_ylim(-0.6, len(names) - 0.4)
        axis.set_title(title)
    figure.supxlabel("nats per token more than two triangles, averaging, sine", fontsize="medium")
    return figure
