"""Loss and accuracy against iterations, one line per model, one column per string length (002-4)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.copying.convergence import plateau
from allmlp.studies.seeds import curve

ROWS = {
    "loss_nats": "loss (nats per token)",
    "token_accuracy_1": "token accuracy",
    "string_accuracy_1": "string accuracy",
}
POINTS = 160  # steps drawn per metric, shared by the string lengths: the file stays small


@figure("Learning to copy", where="Figure 3", claims=["002-4"], parts=["comparison"], also=["long"])
def learning_curves(learning_curve: pd.DataFrame) -> Figure:
    """Loss, accuracy over tokens and accuracy over whole strings on each training batch before its update, which is on
    strings never seen before, against iterations; one column per string length; mean over seeds and 95 % t interval.
    Black dotted: the plateau, the loss of guessing the letters. A line ends where one of its seeds diverged. The paper
    shows strings of 128 as a drawing without numbers, so there is no grey mark.
    """
    lengths = sorted(learning_curve["string_length"].unique())
    figure, axes = style.canvas(columns=len(lengths), rows=len(ROWS), height=1.9)
    for across, length in enumerate(lengths):
        of_length, height = learning_curve[learning_curve["string_length"] == length], plateau(int(length))
        for axis, (column, label) in zip(axes[:, across], ROWS.items(), strict=True):
            for model, colour, rows in plots.by_model(of_length):
                line = curve(rows, column)
                kept = np.linspace(0, len(line) - 1, POINTS // len(lengths)).round().astype(int)
                plots.band(axis, line.iloc[np.unique(kept)], color=colour, label=model)
            axis.set_ylim(*((0, 1.25 * height) if column == "loss_nats" else (-0.02, 1.02)))
            axis.set_ylabel(label if across == 0 else "")
        axes[0, across].axhline(height, color="black", linestyle=":", linewidth=1.0, label="plateau")
        axes[0, across].set_title(f"{length} letters")
        axes[-1, across].set_xlabel("iteration")
    plots.legend_below(figure, [axes[0, 0]], ncols=3)
    return figure
