"""Loss and accuracy against iterations, one line per model, one column per string length (002-4)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.copying.convergence import plateau
from allmlp.studies.seeds import curve

MEASURES = ["learning_curve"]
PARTS, ALSO = ["comparison"], ["long"]
PAPER = "Figure 3"
CLAIMS = ["002-4"]
TITLE = "Learning to copy"
CAPTION = (
    "Loss, accuracy over tokens and accuracy over whole strings on each training batch before its update, "
    "which is on strings never seen before, against iterations; one column per string length; mean over "
    "seeds and 95 % t interval. Black dotted: the plateau, the loss of guessing the letters. A line ends "
    "where one of its seeds diverged. The paper shows strings of 128 as a drawing without numbers, so there "
    "is no grey mark."
)

ROWS = {
    "loss_nats": "loss (nats per token)",
    "token_accuracy_1": "token accuracy",
    "string_accuracy_1": "string accuracy",
}
POINTS = 160  # steps drawn per metric, shared by the string lengths: the file stays small


def _panel(axes: Axes, rows: pd.DataFrame, column: str, points: int) -> None:
    for position, model in enumerate(sorted(rows["model"].unique())):
        line = curve(rows[rows["model"] == model], column)
        line = line.iloc[np.unique(np.linspace(0, len(line) - 1, points).round().astype(int))]
        colour = style.colour(model, position)
        axes.fill_between(line["step"], line["low"], line["high"], color=colour, alpha=0.2, linewidth=0)
        axes.plot(line["step"], line["mean"], color=colour, label=model)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per metric and string length; tables["learning_curve"] with run, seed, part, model, string_length."""
    rows = tables["learning_curve"]
    lengths = sorted(rows["string_length"].unique())
    figure, axes = style.canvas(columns=len(lengths), rows=len(ROWS), height=1.9)
    for across, length in enumerate(lengths):
        of_length = rows[rows["string_length"] == length]
        for down, (column, label) in enumerate(ROWS.items()):
            axis = axes[down, across]
            _panel(axis, of_length, column, POINTS // len(lengths))
            axis.set_ylim(*((0, 1.25 * plateau(int(length))) if column == "loss_nats" else (-0.02, 1.02)))
            axis.set_ylabel(label if across == 0 else "")
        axes[0, across].axhline(plateau(int(length)), color="black", linestyle=":", linewidth=1.0, label="plateau")
        axes[0, across].set_title(f"{length} letters")
        axes[-1, across].set_xlabel("iteration")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
