"""How a crossing is drawn: means over counted operations, and the difference of two models with its crossings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from allmlp.judging.evidence_summary import student_interval
from allmlp.report import style
from allmlp.report.names import display
from allmlp.studies.shared.crossing import Course, Curves


def means(axis: Axes, models: Mapping[str, Curves], looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Each model's mean over seeds, in a band of the 95 % t interval, where all of its seeds have a value."""
    for name, curves in models.items():
        points = np.unique(np.concatenate([of.operations for of in curves.values()]))
        mean, low, high = student_interval(np.array([of.loss_at(points) for of in curves.values()]).T, 0.95)
        axis.fill_between(points, low, high, color=looks[name]["color"], alpha=0.2, linewidth=0)
        axis.plot(points, mean, **{"marker": "o", **looks[name], "markersize": 2}, label=display(name))
    axis.set(xscale="log")


def difference(axis: Axes, course: Course, looks: Mapping[str, Any], *, marked: bool = False) -> None:
    """The mean difference in a band of its t interval; `marked`: a band for the interval of each crossing."""
    axis.fill_between(course.operations, course.low, course.high, color=looks["color"], alpha=0.2, linewidth=0)
    axis.plot(course.operations, course.mean, color=looks["color"], linestyle=looks.get("linestyle", "-"))
    for crossing in course.crossings:
        axis.plot(crossing.at, 0, "o", color=looks["color"], markersize=4, zorder=3)
        if marked:
            axis.axvspan(crossing.low, crossing.high, color=style.PAPER, alpha=0.3, linewidth=0, zorder=0)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(xscale="log")
