"""Panels that show nothing: with fewer than two marks nothing can be compared, so a line stands in their place."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

FEWEST = 2  # marks of a panel
LINE = "Not drawn: fewer than two values."


def drop_sparse_panels(figure: Figure) -> None:
    """Put a line in place of each panel with fewer than two marks, and of the whole figure if it has no other."""
    panels = [axis for axis in figure.axes if axis.axison and axis.get_visible() and axis.get_label() != "<colorbar>"]
    sparse = [axis for axis in panels if count_marks(axis) < FEWEST]
    if panels and len(sparse) == len(figure.axes):
        figure.clear()
        figure.set_size_inches(figure.get_figwidth(), 0.4)
        figure.text(0.01, 0.5, LINE, va="center")
        return
    for axis in sparse:
        title = axis.get_title(loc="left")
        axis.clear()
        axis.set_axis_off()
        axis.set_title(title, loc="left")
        axis.text(0.5, 0.5, LINE.replace(": ", ":\n"), ha="center", va="center", transform=axis.transAxes)


def count_marks(axis: Axes) -> int:
    """How many values a panel shows: points of lines and clouds, ends of areas, bars, cells of pictures.

    Lines across the whole panel are references, and whiskers belong to points: neither counts.
    """
    marks = len(axis.patches)
    caps = [cap for bars in axis.containers if isinstance(bars, ErrorbarContainer) for cap in bars.lines[1]]
    for line in axis.lines:
        if line.get_transform() == axis.transData and line not in caps:
            marks += int(np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all(axis=1).sum())
    for cloud in axis.collections:
        if isinstance(cloud, PathCollection):
            marks += int(np.isfinite(np.ma.filled(cloud.get_offsets(), np.nan)).all(axis=1).sum())
        elif isinstance(cloud, PolyCollection):
            marks += 2
    for image in axis.images:
        marks += int(np.ma.masked_invalid(np.ma.asarray(image.get_array(), dtype=float)).count())
    return marks
