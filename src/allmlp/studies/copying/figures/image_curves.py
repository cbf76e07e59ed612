"""Loss and accuracy of image runs against steps, one line per model (002-8)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.seeds import curve

PANELS = {  # of the test split -> of each batch, and what both are
    "test_nats": ("loss_nats", "loss (nats)"),
    "test_accuracy_1": ("accuracy_1", "accuracy"),
}
SMOOTHED = 9  # logged steps whose mean the faint line is


@figure("Learning to classify images", where="Figure 7", claims=["002-8", "002-own-3"])
def image_curves(image_curve: pd.DataFrame) -> Figure:
    """Loss and accuracy on held-out images against training steps, mean over seeds and 95 % t interval, paired between
    models, which see the same batches. Faint: each training batch before its update, mean over seeds; the paper draws
    these alone, and visits every image once. A line ends where one of its seeds diverged. The paper shows CIFAR-5m as a
    drawing without numbers, so there is no grey mark.
    """
    figure, axes = style.canvas(columns=len(PANELS), height=3.2)
    for axis, (tested, (trained, label)) in zip(axes[0], PANELS.items(), strict=True):
        for model, colour, rows in plots.by_model(image_curve):
            batches = curve(rows, trained)
            smooth = batches["mean"].rolling(SMOOTHED, center=True, min_periods=1).mean()
            axis.plot(batches["step"], smooth, color=colour, alpha=0.3, linewidth=0.8)
            plots.bars(axis, curve(rows, tested), fmt="o-", color=colour, elinewidth=0.8, label=model)
        plots.steps(axis, image_curve["step"].max())
        axis.set_ylim(bottom=0, top=None if tested == "test_nats" else 1.02)
        axis.set_ylabel(label)
    axes[0, 0].set_title(", ".join(sorted(image_curve["corpus"].unique())))
    plots.legend_below(figure, axes[0], ncols=2)
    return figure
