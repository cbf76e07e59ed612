"""The numbers that a figure shows, taken from what is drawn, for a reader who wants them as a table."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, PathCollection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

DIGITS = 4  # significant ones: further ones are not to be seen, and differ from one CPU type to another
LONGEST = 200  # points of a line or band; of a longer one every so many-th
LARGEST = 5_000  # cells of a picture: a larger one is left out
NEAR = 0.45  # of the step from one named place of an axis to the next
Drawn = Iterator[tuple[Any, dict[str, Any]]]  # an artist or a container, and columns of one length


def figure_data(figure: Figure) -> dict[str, Any]:
    """`panels`: a title, the labels of the axes and `series`, each with its name and columns of one length: x, y;
    x_low, x_high, y_low, y_high of a range; value, of a cell; text. A column is a place in `columns`, because many
    series share theirs. Without panels for a diagram.
    """
    panels: list[dict[str, Any]] = []
    names = _names_of_colours(figure)
    for axis in figure.axes:
        if axis.get_visible() and not axis.get_label() and (series := list(_series(axis, names))):
            title = next(filter(None, (axis.get_title(loc=place) for place in ("left", "center", "right"))), "")
            labels = {"x": _line(axis.get_xlabel()), "y": _line(axis.get_ylabel())}
            panels.append({"title": _line(title), **labels, "series": series})
    columns: dict[str, int] = {}
    for series in (one for panel in panels for one in panel["series"]):
        for key in (key for key in series if key != "name"):
            series[key] = columns.setdefault(json.dumps(series[key]), len(columns))
    return {"columns": [json.loads(column) for column in columns], "panels": panels}


def _line(text: object) -> str:
    """As one line."""
    return " ".join(str(text).split())


def _names_of_colours(figure: Figure) -> dict[str, str]:
    """colour -> the one name that legends and labels give it: a series without a label is called by its colour."""
    named: list[tuple[Any, str]] = []
    legends = [*figure.legends, *(one for axis in figure.axes if (one := axis.get_legend()))]
    for legend in legends:
        named += zip(legend.legend_handles, (text.get_text() for text in legend.get_texts()), strict=True)
    for axis in figure.axes:
        named += [(drawn, _label(drawn)) for drawn in (*axis.lines, *axis.collections, *axis.containers)]
    found: dict[str, set[str]] = defaultdict(set)
    for drawn, name in named:
        found[_colour(drawn)] |= {_line(name)} - {""}
    return {colour: names.pop() for colour, names in found.items() if colour and len(names) == 1}


def _label(drawn: Any) -> str:
    label = str(drawn.get_label() or "")
    return "" if label.startswith("_") else _line(label)


def _colour(drawn: Any) -> str:
    """As #rrggbb; empty if the parts of what is drawn differ in it."""
    if isinstance(drawn, ErrorbarContainer):
        drawn = drawn.lines[0] or drawn.lines[2][0]
    elif isinstance(drawn, BarContainer):
        drawn = next(iter(drawn.patches), None)
    ways = ("get_edgecolor",) if isinstance(drawn, LineCollection) else ("get_color", "get_facecolor", "get_edgecolor")
    for way in ways:
        shades = {to_hex(one) for one in to_rgba_array(getattr(drawn, way)()) if one[3]} if hasattr(drawn, way) else ()
        if shades:
            return shades.pop() if len(shades) == 1 else ""
    return ""


def _series(axis: Axes, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """All that is drawn on a panel, without points that are not finite; what has one name and the same columns is one
    series. `names`: of the colours.
    """
    found: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for drawn, columns in _drawn(axis):
        name = "" if isinstance(drawn, Text) else _label(drawn) or names.get(_colour(drawn), "")
        texts = {"text": [_line(drawn.get_text())]} if isinstance(drawn, Text) else {}
        seen = np.flatnonzero(np.logical_and.reduce([np.isfinite(of) for of in columns.values()]))
        if isinstance(drawn, (Line2D, FillBetweenPolyCollection)) and len(seen) > LONGEST:
            seen = seen[np.linspace(0, len(seen) - 1, LONGEST).round().astype(int)]
        series = found.setdefault((name, *columns, *texts), defaultdict(list))
        for key, of in columns.items():
            series[key] += np.asarray(of, dtype=float)[seen].tolist()
        for key, said in texts.items():
            series[key] += said[: len(seen)]
    for (name, *_), series in found.items():
        numbers = {key: of if key == "text" else [_short(one) for one in of] for key, of in series.items()}
        places = {key: _places(axis, key, series[key]) for key in "xy" if series.get(key)}
        if any(numbers.values()):
            yield {"name": name, **numbers, **{key: of for key, of in places.items() if of}}


def _drawn(axis: Axes) -> Drawn:
    """What stands at places of the axes; a line across the whole panel does not."""
    for one in axis.containers:
        if isinstance(one, ErrorbarContainer):
            yield from _error_bars(one)
        elif isinstance(one, BarContainer):
            yield from _bars(one)
    inner = {id(part) for one in axis.containers for part in _parts(one)}
    for line in axis.lines:
        if id(line) not in inner and line.get_transform() == axis.transData:
            yield line, dict(zip("xy", _pairs(line.get_xydata()).T, strict=True))
    for found in axis.collections:
        if id(found) not in inner:
            yield from _collection(axis, found)
    for patch in axis.patches:
        if isinstance(patch, StepPatch):
            heights, edges, _ = patch.get_data()
            yield patch, {"x_low": edges[:-1], "x_high": edges[1:], "y": heights}
    for image in axis.images:
        yield from _picture(image)
    for text in axis.texts:
        if text.get_transform() == axis.transData and type(text) is Text:
            yield text, {"x": [text.get_position()[0]], "y": [text.get_position()[1]]}


def _pairs(points: Any) -> Any:
    """Points (N, 2), those that are masked as NaN."""
    return np.ma.filled(np.ma.asarray(points, dtype=float), np.nan).reshape(-1, 2)


def _parts(container: Any) -> Iterator[Artist]:
    """The artists of error bars and bars, which are one series."""
    for one in container:
        yield from one if isinstance(one, (list, tuple)) else [one] if isinstance(one, Artist) else []


def _error_bars(bars: ErrorbarContainer) -> Drawn:
    line, _, ranges = bars.lines
    along = "x" * bars.has_xerr + "y" * bars.has_yerr
    ends = {
        way: np.asarray(of.get_segments(), dtype=float).reshape(-1, 2, 2) for way, of in zip(along, ranges, strict=True)
    }
    middles = next(iter(ends.values())).mean(axis=1) if line is None else _pairs(line.get_xydata())
    if all(len(of) == len(middles) for of in ends.values()):
        columns = {f"{way}_{end}": getattr(of[..., "xy".index(way)], least)(axis=1)
                   for way, of in ends.items() for end, least in (("low", "min"), ("high", "max"))}  # fmt: skip
        yield bars, {**dict(zip("xy", middles.T, strict=True)), **columns}


def _bars(bars: BarContainer) -> Drawn:
    left, low, right, high = np.asarray([bar.get_bbox().extents for bar in bars.patches], dtype=float).reshape(-1, 4).T
    across = bars.orientation == "horizontal"
    yield bars, {"x": right, "y": (low + high) / 2} if across else {"x": (left + right) / 2, "y": high}


def _collection(axis: Axes, found: Any) -> Drawn:
    if isinstance(found, PathCollection):
        yield found, dict(zip("xy", _pairs(found.get_offsets()).T, strict=True))
    elif isinstance(found, FillBetweenPolyCollection):
        for path in found.get_paths():
            corners = _pairs(path.vertices)
            half = (len(corners) - 3) // 2  # there along one edge and back along the other
            there, back = corners[1 : half + 1], corners[half + 2 : -1][::-1]
            if len(there) == len(back):
                yield found, {"x": there[:, 0], "y_low": there[:, 1], "y_high": back[:, 1]}
    elif isinstance(found, LineCollection) and found.get_transform() == axis.transData:
        ends = np.asarray([part for part in found.get_segments() if len(part) == 2], dtype=float).reshape(-1, 4)
        if len(ends) and (ends[:, 1] == ends[:, 3]).all():
            yield found, {"y": ends[:, 1], "x_low": ends[:, 0], "x_high": ends[:, 2]}
        elif len(ends) and (ends[:, 0] == ends[:, 2]).all():
            yield found, {"x": ends[:, 0], "y_low": ends[:, 1], "y_high": ends[:, 3]}


def _picture(image: Any) -> Drawn:
    """The cells of a picture of numbers, not of one of colours."""
    values: Any = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
    if values.ndim == 2 and values.size <= LARGEST:
        left, right, bottom, top = image.get_extent()
        rows, columns = values.shape
        down = top + (np.arange(rows) + 0.5) * (bottom - top) / rows
        x, y = np.meshgrid(left + (np.arange(columns) + 0.5) * (right - left) / columns,
                           down[::-1] if image.origin == "lower" else down)  # fmt: skip
        yield image, {"x": x.ravel(), "y": y.ravel(), "value": values.ravel()}


def _places(axes: Axes, along: str, values: list[float]) -> list[str]:
    """The names of values that all stand at named places of an axis, a whole step from each other; else none."""
    limits = f"get_{along}lim"
    same = [one for one in axes.figure.axes if getattr(one, limits)() == getattr(axes, limits)()]
    for one in (axes, *same):  # panels side by side are named once
        axis: Axis = getattr(one, f"{along}axis")
        if not isinstance(axis.get_major_locator(), FixedLocator):
            continue
        places = np.asarray(axis.get_majorticklocs(), dtype=float)
        names = [_line(axis.get_major_formatter()(place, number)) for number, place in enumerate(places)]
        if len(places) and all(names) and (np.diff(places) == 1).all():
            nearest = [int(np.abs(places - value).argmin()) for value in values]
            if all(abs(places[number] - value) <= NEAR for number, value in zip(nearest, values, strict=True)):
                return [names[number] for number in nearest]
    return []


def _short(value: float) -> float | int:
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
