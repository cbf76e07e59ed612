"""Common to the figures on neurons: a colour and a line for each class, the moments, an axis of kept steps."""

import pandas as pd
from matplotlib.axes import Axes

from allmlp.report import plots, style
from allmlp.studies.language.classification import CLASSES, HYBRID, OTHER

# Colours that no architecture of this study has.
COLOURS = dict(zip(CLASSES, (*(style.NEUTRAL[i] for i in (0, 1, 4, 2)), "#555555"), strict=True))
LINES = {name: {HYBRID: "--", OTHER: ":"}.get(name, "-") for name in CLASSES}
MOMENTS = ("start", "half", "end")


def kept_steps(axis: Axes, steps: "pd.Series[int]") -> None:
    """A logarithmic x axis, linear up to the first kept step after the start."""
    plots.steps(axis, steps.max(), linear_to=max(1, steps[steps > 0].min()), label="training steps (logarithmic)")
