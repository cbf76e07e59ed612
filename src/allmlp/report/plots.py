"""Building blocks of figures: bands, bars and whiskers over seeds, ticks, axes of steps, one legend.

`points` are rows of `allmlp.report.seeds.aggregate_seeds`: a column `x`, and mean, low and high (nan: no interval).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.judging.statistics import Interval
from allmlp.report import style
from allmlp.report.powers import format_plain

SMALL: dict[str, Any] = {"markersize": 3}
PICTURE: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "rasterized": True}


def group_by_model(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(model, its colour, its rows) in alphabetical order."""
    for position, model in enumerate(sorted(rows["model"].unique())):
        yield model, style.colour(model, position), rows[rows["model"] == model]


def band(axis: Axes, points: pd.DataFrame, x: str = "step", *, color: str, shade: float = 0.2, **looks: Any) -> None:
    """A line through the means, in a band between the ends of the intervals."""
    axis.fill_between(points[x], points["low"], points["high"], color=color, alpha=shade, linewidth=0)
    axis.plot(points[x], points["mean"], color=color, **{**SMALL, **looks})


def bars(axis: Axes, points: pd.DataFrame, x: str = "step", **looks: Any) -> None:
    """The means with their intervals as bars, if there are intervals."""
    half = points["high"] - points["mean"]
    looks = {**SMALL, "capsize": 2, **looks}
    axis.errorbar(points[x], points["mean"], yerr=None if half.isna().all() else half, **looks)


def whisker(axis: Axes, place: float, interval: Interval, *, along: str = "y", **looks: Any) -> None:
    """One mean with its interval, if it has one, at a `place` on the other axis."""
    half = None if np.isinf(interval.half_width) else interval.half_width
    if along == "y":
        axis.errorbar(place, interval.mean, yerr=half, **looks)
    else:
        axis.errorbar(interval.mean, place, xerr=half, **looks)


def floors(axis: Axes, values: pd.Series, label: str) -> None:
    """A dotted line at each different value, a bound for every model."""
    for position, value in enumerate(sorted(values.dropna().unique())):
        axis.axhline(value, color="black", linestyle=":", linewidth=1.2, label=None if position else label)


def ticks(
    axis: Axes,
    values: Sequence[float],
    *,
    base: float = 10,
    form: Callable[[float], str] = format_plain,
    apart: float = 1,
    **looks: Any,
) -> None:
    """A logarithmic x axis with a tick at each value that was tried, and no others.

    `apart`: a value less than this factor above the one before has no tick, so that labels do not overlap.
    """
    shown = [value for value, before in zip(values, [0, *values], strict=False) if value > apart * before]
    axis.set_xscale("log", base=base)
    axis.set_xticks(shown, [form(value) for value in shown], **looks)
    axis.xaxis.set_minor_locator(NullLocator())


def steps(
    axis: Axes, last: float | None = None, *, linear_to: float = 10, label: str = "training step (logarithmic)"
) -> None:
    """A logarithmic x axis of training steps from 0 to `last` (None: to the last drawn step)."""
    axis.set_xscale("symlog", linthresh=linear_to)
    axis.set_xlim(0, None if last is None else 1.1 * last)
    axis.set_xlabel(label)


def align_end_labels(axis: Axes) -> None:
    """The first and last label of an x axis end where it does, so that those of neighbouring panels stay apart."""
    first, *_, last = axis.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")


def clear_axis(axis: Axes, *, frame: bool = True) -> None:
    """No grid and no ticks: for pictures."""
    axis.grid(visible=False)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in () if frame else axis.spines.values():
        side.set_visible(False)


def add_legend(figure: Figure, axes: Iterable[Axes], ncols: int, order: Sequence[str] = (), **looks: Any) -> None:
    """One legend below all axes that names each label once: those of `order` first, then as they were drawn."""
    named: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        named = {**dict(zip(labels, handles, strict=True)), **named}
    labels = [*order, *(label for label in named if label not in order)]
    looks = {"loc": "outside lower center", "ncols": ncols, **looks}
    figure.legend([named[label] for label in labels], labels, **looks)
