"""Held-out loss against steps of the study's variants, a panel per question (004-2 to -5, own claims)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.seeds import curve
from allmlp.studies.triangular.parts import COMPARISON, RATES_OF_VARIANTS

EARLY = 0.25  # share of the steps
PANELS = {
    "mask and triangles": ["one-plain", "one-averaging", "two-plain", "two-averaging", "one-discounted"],
    "activation": ["two-averaging", "gelu", "relu", "leaky-relu"],
    "form": ["two-averaging", "reshape", "gradient-mask"],
}
NAMES = {
    "one-plain": "one, plain",
    "one-averaging": "one, averaging",
    "one-discounted": "one, discounted",
    "two-plain": "two, plain",
    "two-averaging": "two, averaging, sine",
    "gradient-mask": "mask on the gradient",
}
STYLES = ("o-", "s--", "^-.", "d:", "v-")  # lines may lie upon each other
FINE: dict[str, Any] = {"markersize": 2.5, "linewidth": 1.0, "capsize": 1.5}


@figure(
    "Masks, triangles, activations and forms",
    where="Figures 1, 4 and 5, which show the variants and no loss",
    claims=["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"],
    parts=[COMPARISON],
    values={"rates": RATES_OF_VARIANTS},
)
def loss_curves(loss_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents in nats per token against training steps, mean over seeds and 95 % t interval; with
    one seed all variants see the same batches. {rates} Left of the grey line is what the rules call early. Variants
    that a scale leaves out are not drawn. The paper names the variants and prints no loss.
    """
    rows = loss_curve.dropna(subset="validation_nats")
    there = set(rows["variant"])
    panels = {title: [name for name in names if name in there] for title, names in PANELS.items()}
    panels = {title: names for title, names in panels.items() if len(names) > 1} or {"": sorted(there)}
    figure, axes = style.canvas(columns=len(panels), height=3.4)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for position, name in enumerate(names):
            line = curve(rows[rows["variant"] == name], "validation_nats")
            mark, colour = STYLES[position % len(STYLES)], style.NEUTRAL[position % len(style.NEUTRAL)]
            plots.bars(axis, line, fmt=mark, color=colour, label=NAMES.get(name, name), **FINE)
        style.mark_paper(axis, EARLY * float(rows["step"].max()), along="x", label="_early")
        axis.set_title(title)
        axis.set_xlabel("training step")
        axis.legend(loc="upper right")
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    return figure
