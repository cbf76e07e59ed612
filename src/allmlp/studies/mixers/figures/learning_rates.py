"""The search of learning rates: held-out loss of every model at every rate, one budget for all."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers.drawing import FAMILIES
from allmlp.studies.mixers.parts import SEARCH, of_base
from allmlp.studies.mixers.searched import searched
from allmlp.studies.parts import of_part

MOST_LABELS = 5  # of rates under one axis
MARKERS = "os^vD<>P"


@figure("Learning rates: the same search for every model", parts=[SEARCH])
def learning_rates(cost: pd.DataFrame) -> Figure:
    """Held-out loss at the end of the search's runs against learning rate, one line per model, the mean over seeds that
    no compared run has; the filled mark is the rate that was chosen, and that the compared runs of the model take. A
    diverged run has no point. The article tunes by hand; the rate that it names, 0.005, is in none of its published
    trainers (E001-6).
    """
    rows = searched(of_part(cost, SEARCH))
    rows = of_base(rows[~rows["windows"]])
    families = [architecture for architecture in FAMILIES if architecture in set(rows["model"])]
    figure, axes = style.canvas(columns=max(1, len(families)), height=2.8)
    for axis, architecture in zip(axes[0], families, strict=True):
        for position, (variant, of_model) in enumerate(rows[rows["model"].eq(architecture)].groupby("variant")):
            looks = {"marker": MARKERS[position % len(MARKERS)], "color": style.NEUTRAL[position % len(style.NEUTRAL)]}
            losses = of_model["validation_nats"].where(~of_model["diverged"].astype(bool))
            axis.plot(of_model["rate"], losses, markersize=3, markerfacecolor="none", label=variant, **looks)
            best = of_model[of_model["chosen"]]
            axis.plot(best["rate"], best["validation_nats"], linestyle="", markersize=4, **looks)
        axis.set_xscale("log")
        rates = sorted(rows["rate"].unique())
        apart = 1 if len(rates) <= MOST_LABELS else 3
        axis.set_xticks(rates, [f"{rate:g}" if i % apart == 0 else "" for i, rate in enumerate(rates)])
        axis.set_xticks([], minor=True)
        axis.set_title(FAMILIES[architecture][0])
        axis.set_xlabel("learning rate")
        axis.legend(fontsize=5)
    finite = rows["validation_nats"].to_numpy()
    finite = finite[np.isfinite(finite)]
    for axis in axes[0]:
        axis.set_ylim(0.97 * finite.min(), 1.03 * finite.max())
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    return figure
