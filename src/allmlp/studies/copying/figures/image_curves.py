"""Loss and accuracy of image runs against steps, one line per model (002-8)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve

MEASURES = ["image_curve"]
PAPER = "Figure 7"
CLAIMS = ["002-8", "002-own-3"]
TITLE = "Learning to classify images"
CAPTION = (
    "Loss and accuracy on held-out images against training steps, mean over seeds and 95 % t interval, paired between "
    "models, which see the same batches. Faint: each training batch before its update, mean over seeds; the paper "
    "draws these alone, and visits every image once. A line ends where one of its seeds diverged. The paper shows "
    "CIFAR-5m as a drawing without numbers, so there is no grey mark."
)

PANELS = {
    "test_nats": ("loss_nats", "loss (nats)"),
    "test_accuracy_1": ("accuracy_1", "accuracy"),
}
SMOOTHED = 9  # logged steps whose mean the faint line is


def _line(axes: Axes, rows: pd.DataFrame, model: str, position: int, tested: str, trained: str) -> None:
    colour = style.colour(model, position)
    batches = curve(rows, trained)
    smooth = batches["mean"].rolling(SMOOTHED, center=True, min_periods=1).mean()
    axes.plot(batches["step"], smooth, color=colour, alpha=0.3, linewidth=0.8)
    test = curve(rows, tested)
    half = test["high"] - test["mean"]
    axes.errorbar(
        test["step"],
        test["mean"],
        yerr=None if half.isna().all() else half,
        fmt="o-",
        markersize=3,
        capsize=2,
        elinewidth=0.8,
        color=colour,
        label=model,
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number; tables["image_curve"] with run, seed, model and corpus."""
    rows = tables["image_curve"]
    figure, axes = style.canvas(columns=len(PANELS), height=3.2)
    for axis, (tested, (trained, label)) in zip(axes[0], PANELS.items(), strict=True):
        for position, model in enumerate(sorted(rows["model"].unique())):
            _line(axis, rows[rows["model"] == model], model, position, tested, trained)
        axis.set_xscale("symlog", linthresh=10)
        axis.set_xlim(0, 1.1 * rows["step"].max())
        axis.set_ylim(bottom=0, top=None if tested == "test_nats" else 1.02)
        axis.set_xlabel("training step (logarithmic)")
        axis.set_ylabel(label)
    axes[0, 0].set_title(", ".join(sorted(rows["corpus"].unique())))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
