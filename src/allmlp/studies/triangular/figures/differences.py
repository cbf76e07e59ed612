"""How much each variant differs from the model as published, early and at the end, paired by seed (004-2 to -5)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import over_seeds
from allmlp.studies.triangular.parts import COMPARISON, RATES_OF_VARIANTS
from allmlp.studies.triangular.runs.settings import PUBLISHED

MEASURES = ["learning"]
PARTS = [COMPARISON]
PAPER = "Sections 2 and 3"
CLAIMS = ["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"]
TITLE = "What each variant costs"
CAPTION = (
    "Held-out loss of each variant minus that of the model as published (two triangles, averaging mask, sine) of the "
    "same size and seed, nats per token: mean over the tested steps of the first quarter, and after the last step. "
    "Points: seeds; bars: mean and 95 % t interval. Right of zero the model as published is better. "
    + RATES_OF_VARIANTS
)
COLUMNS = {"early_nats": "early (mean over the first quarter)", "end_nats": "at the end"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel for the beginning and one for the end; tables["learning"] with run, seed, variant."""
    rows = tables["learning"]
    base = rows[rows["variant"] == PUBLISHED].set_index("seed")
    names = [name for name in sorted(rows["variant"].unique()) if name != PUBLISHED]
    figure, axes = style.canvas(columns=2, height=0.7 + 0.28 * max(3, len(names)))
    for axis, (column, title) in zip(axes[0], COLUMNS.items(), strict=True):
        against = rows.assign(difference=rows[column] - rows["seed"].map(base[column]))
        means = over_seeds(against, ["variant"], "difference").set_index("variant")
        for position, name in enumerate(names):
            values, mean = against.loc[against["variant"] == name, "difference"], means.loc[name]
            colour = style.NEUTRAL[position % len(style.NEUTRAL)]
            axis.plot(values, np.full(len(values), position), "o", markersize=2.5, alpha=0.5, color=colour)
            half = None if np.isnan(mean["low"]) else [[mean["mean"] - mean["low"]], [mean["high"] - mean["mean"]]]
            axis.errorbar(mean["mean"], position, xerr=half, fmt="D", markersize=4, capsize=3, color=colour)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), names if axis is axes[0, 0] else [""] * len(names))
        axis.set_ylim(-0.6, len(names) - 0.4)
        axis.set_title(title)
    figure.supxlabel("nats per token more than two triangles, averaging, sine", fontsize="medium")
    return figure
