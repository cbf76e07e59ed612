"""A figure in words, from its own numbers, for readers who do not see it."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

MOST = 8  # series that are described of a panel, and panels of a figure


def describe_figure(figure: Figure) -> str:
    """The panels of a figure: what is drawn against what, and from where to where each named series goes."""
    axes = [axis for axis in figure.axes if axis.get_visible() and axis.has_data()]
    words = [_panel(axis, number, len(axes)) for number, axis in enumerate(axes[:MOST], start=1)]
    further = f"{len(axes) - MOST} further panels." if len(axes) > MOST else ""
    return " ".join(" ".join([*words, further]).split())


def _panel(axis: Axes, number: int, of: int) -> str:
    name = next(filter(None, (axis.get_title(loc=place) for place in ("left", "center", "right"))), "")
    panel = f"Panel {number} of {of}{f' ({name})' if name else ''}: " if of > 1 else f"{name}: " if name else ""
    said = str(axis.get_label())
    if said and not said.startswith("<"):  # a diagram says itself what it shows; <colorbar> is Matplotlib's
        return f"{panel}{said}"
    y, x = axis.get_ylabel() or "values", axis.get_xlabel()
    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    series = [said for line in lines if (said := _series(line))]
    further = [f"{len(series) - MOST} further series"] if len(series) > MOST else []
    listed = "; ".join([*series[:MOST], *further])
    return f"{panel}{y}{f' against {x}' if x else ''}{_picture(axis)}. {f'{listed}.' if listed else ''}"


def _picture(axis: Axes) -> str:
    """The size of the pictures of a panel and the range of their values."""
    words = ""
    for image in axis.images:
        values: Any = np.ma.masked_invalid(np.ma.asarray(image.get_array(), dtype=float))
        if values.ndim == 2 and values.count():
            rows, columns = values.shape
            words += f", {rows} rows and {columns} columns of values from {values.min():.3g} to {values.max():.3g}"
    return words


def _series(line: Line2D) -> str:
    """`mlp: from 4.1 to 3.2`, of the first and the last finite point; empty without one."""
    ends = list(_finite_values(line))
    if not ends:
        return ""
    first, last = ends[0], ends[-1]
    return f"{line.get_label()}: " + (f"{first:.3g}" if first == last else f"from {first:.3g} to {last:.3g}")


def _finite_values(line: Line2D) -> Iterator[float]:
    try:
        values = np.asarray(line.get_ydata(), dtype=float)
    except (TypeError, ValueError):  # dates and categories
        return
    yield from (float(value) for value in values if math.isfinite(value))
