"""R2 of the logits on the laws of Appendix B, by the part of the network that makes them (003-9)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.report.statistics import prediction_interval
from allmlp.studies.quadrature.verdicts.logits import OF_PAPER, r2_by_seed

MEASURES = ["regressions"]
PAPER = "Appendix B"
CLAIMS = ["003-9"]
TITLE = "Which law the logits follow"
CAPTION = (
    "R2 of least squares of all p³ logits on one regressor per key frequency (two for the third law) and an "
    "intercept. Small points: seeds; large points: their mean with the 95 % prediction interval for one further "
    "seed; grey: the paper's numbers. MLP: without the residual stream's own way to the logits; absolute and "
    "identity part: what |u|/2 and u/2 of ReLU(u) let through. The third law, C |cos k(x-y)/2| + D cos k(x-y) "
    "times cos k(x+y-z), is the expression that Appendix B ends with and does not regress on. The axis is "
    "logarithmic in 1 - R2; intervals are cut at its top."
)

PARTS = {"logits": "whole", "mlp": "MLP", "abs": "absolute\npart", "identity": "identity\npart"}
LAWS = {  # label and colour
    "abs": ("|cos k(x-y)/2| cos k(x+y-z)", style.NEUTRAL[0]),
    "cosine": ("cos k(x+y-z)", style.NEUTRAL[1]),
    "both": ("(C |cos k(x-y)/2| + D cos k(x-y)) cos k(x+y-z)", style.NEUTRAL[2]),
}
TICKS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
BEST = 0.9995  # an R2 or an end of an interval above it is drawn there


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Points over parts, side by side for each law; tables["regressions"] with run and seed, tables["paper"]."""
    rows, paper = tables["regressions"], tables["paper"]
    printed = paper[paper["claim"] == "003-9"].set_index("key")["value"].astype(float)
    stated = {of: printed[key] for key, of in OF_PAPER.items() if key in printed}
    figure, axes = style.canvas(height=3.4)
    axis = axes[0, 0]
    for i, part in enumerate(PARTS):
        for j, law in enumerate(LAWS):
            _category(axis, i + 0.27 * (j - 1), r2_by_seed(rows, part, law), law, stated.get((part, law)), i == 0)
    axis.set_yscale("log")
    axis.set_ylim(1.15, missing(max(rows["r2_1"].max(), 0.995)) / 1.3)
    best = axis.get_ylim()[1]
    ticks = [tick for tick in TICKS if 1 - tick >= best]
    axis.set_yticks([1 - tick for tick in ticks], [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylabel("R2 (1)")
    axis.set_xticks(range(len(PARTS)), list(PARTS.values()))
    axis.set_title(f"{rows['seed'].nunique()} seeds")
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def missing(r2: float) -> float:
    """1 - R2, within what a logarithmic axis can show."""
    return float(np.clip(1 - r2, 1 - BEST, 1.0))


def _category(axes: Axes, position: float, values: np.ndarray, law: str, printed: float | None, named: bool) -> None:
    label, colour = LAWS[law]
    interval = prediction_interval(values)
    spread = np.linspace(-0.09, 0.01, len(values)) if len(values) > 1 else [-0.05]
    axes.plot(
        position + np.asarray(spread), [missing(v) for v in values], ".", color=colour, alpha=0.6, markersize=4
    )  # fmt: skip
    middle = missing(interval.mean)
    ends = [missing(end) for end in (interval.high, interval.low)]  # down and up on an axis of 1 - R2
    half = [[middle - ends[0]], [ends[1] - middle]] if np.isfinite(interval.half_width) else None
    axes.errorbar(
        position + 0.07, middle, yerr=half, fmt="o", color=colour, markersize=5, capsize=2.5,
        label=label if named else "_nolegend_",
    )  # fmt: skip
    if printed is not None:
        axes.hlines(
            missing(printed), position - 0.13, position + 0.13, color=style.PAPER, linestyle="--", linewidth=1.4,
            label="paper" if named and law == "cosine" else "_nolegend_",
        )  # fmt: skip
