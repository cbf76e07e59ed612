"""Common to the figures on neurons: a colour and a line for each class, moments, axes of steps, pictures of weights."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from allmlp.report import plots, style
from allmlp.studies.language.classification import CLASSES, HYBRID, OTHER

# Colours that no architecture of this study has.
COLOURS = dict(zip(CLASSES, (*(style.NEUTRAL[i] for i in (0, 1, 4, 2)), "#555555"), strict=True))
LINES = {name: {HYBRID: "--", OTHER: ":"}.get(name, "-") for name in CLASSES}
MOMENTS = ("start", "half", "end")
READINGS = {"paper": "raw norms", "relative": "norms over the largest row"}  # of the paper's thresholds (E000-2)


def scale_step_axis(axis: Axes, steps: "pd.Series[int]") -> None:
    """A logarithmic x axis, linear up to the first kept step after the start."""
    plots.steps(axis, steps.max(), linear_to=max(1, steps[steps > 0].min()), label="training steps (logarithmic)")


def drop_empty(titles: Mapping[str, str], rows: pd.DataFrame) -> tuple[dict[str, str], str]:
    """The columns of shares that get a panel, and a sentence on those that are 0 everywhere.

    `titles`: column -> the panel's title.
    """
    empty = [column for column in titles if rows[column].eq(0).all()]
    shown = {column: title for column, title in titles.items() if column not in empty}
    return (
        shown,
        f"0 in all runs, not drawn: {', '.join(titles[column] for column in empty)}." if empty else "",
    )


def draw_classes(axis: Axes, lines: Mapping[str, pd.DataFrame], x: str) -> None:
    """The share of each class that has neurons. Lines of the others would cover one another at 0."""
    for name, line in lines.items():
        if line["mean"].gt(0).any():
            plots.band(axis, line, x, label=name, color=COLOURS[name], linestyle=LINES[name], marker="o")


def name_empty_classes(figure: Figure, axes: Sequence[Axes], before: str = "") -> None:
    """A legend of the classes that the panels show, and a sentence on the others."""
    shown = {label for axis in axes for label in axis.get_legend_handles_labels()[1]}
    empty = ", ".join(name for name in CLASSES if name not in shown)
    add_sentence(figure, f"{before} No neuron in any panel: {empty}.".strip() if empty else before)
    plots.add_legend(figure, axes, ncols=len(COLOURS), order=[name for name in CLASSES if name in shown])


def add_sentence(figure: Figure, sentence: str) -> None:
    """A sentence above all panels, if there is one."""
    if sentence:
        figure.suptitle(sentence, fontsize=8, x=0.01, ha="left")


def show_bytes(tokens: str) -> str:
    """Tokens as a reader sees them: a word in place of the sign for bytes that are no letter by themselves.

    >>> show_bytes("\ufffd ▁the")
    '‹byte› ▁the'
    """
    return tokens.replace("\ufffd", "‹byte›")


def matrix(rows: pd.DataFrame) -> NDArray[np.float64]:
    """The weights of one neuron, measured as text, (T, coordinates)."""
    weights = rows.sort_values("position", kind="stable")["weights"]
    return np.array([[int(word) for word in text.split()] for text in weights], dtype=np.float64)


def picture(axes: Axes, weights_TD: NDArray[np.float64]) -> None:
    """Coordinates (down) against time (across), scaled to the largest weight: red above zero, blue below."""
    shades_TD = style.shades(weights_TD)
    most = np.abs(shades_TD).max()
    axes.imshow(shades_TD.T, cmap="RdBu_r", vmin=-most, vmax=most, **plots.PICTURE)
