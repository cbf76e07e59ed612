"""Loss against iterations of CausalRN with one part changed: norms and activation (002-1, -2, -3)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.copying.convergence import plateau
from allmlp.studies.copying.parts import PUBLISHED, variants
from allmlp.studies.seeds import curve

PANELS = {
    "after the reduction": ["no-post-norm"],
    "before the activation": ["approximate-pre-norm", "no-pre-norm"],
    "activation": ["relu", "elu"],
}
POINTS = 120  # steps drawn per line: the file stays small


@figure(
    "What each part of CausalRN is for",
    where="Figure 2",
    claims=["002-1", "002-2", "002-3"],
    parts=["comparison", "ablation"],
)
def ablations(learning_curve: pd.DataFrame) -> Figure:
    """Loss on each training batch before its update, against iterations, of CausalRN as published and with one part
    changed: left without the norm after the reduction, in the middle with the approximate norm before the activation or
    none, right with another activation. Mean over seeds and 95 % t interval. Black dotted: the plateau, the loss of
    guessing the letters. Variants that this scale leaves out are not drawn.
    """
    rows = variants(learning_curve)
    there = set(rows["variant"])
    panels = {title: [name for name in names if name in there] for title, names in PANELS.items()}
    panels = {title: names for title, names in panels.items() if names}
    height = plateau(int(rows["string_length"].iloc[0]))
    figure, axes = style.canvas(columns=len(panels), height=2.8)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for position, name in enumerate([PUBLISHED, *names]):
            line = curve(rows[rows["variant"] == name], "loss_nats")
            colour = style.COLOURS["causal-rn"] if name == PUBLISHED else style.NEUTRAL[position]
            plots.band(axis, line.iloc[:: max(1, len(line) // POINTS)], color=colour, label=name)
        axis.axhline(height, color="black", linestyle=":", linewidth=1.0)
        axis.set_ylim(0, 1.6 * height)  # room for the legend above the plateau
        axis.set_title(title)
        axis.set_xlabel("iteration")
        axis.legend(loc="upper right")
    axes[0, 0].set_ylabel("loss (nats per token)")
    return figure
