"""Boxes, arrows and squares on one sheet, measured in points from the top left, each kind of shape as one path."""

from collections import defaultdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

TEXT, SMALL = 8.5, 7.5  # points
WIDE = 0.62  # of a letter of DejaVu Sans, in font sizes; more than most
INCH = 72
INK, SOFT = "#222222", "#5c5c5c"
WEIGHTS, PLAIN, FILLED, EDGE = "#cfe3f3", "#f0f0f0", "#0072B2", "#b0b0b0"
HEAD = 3.2  # half the width of an arrow's head

Point = tuple[float, float]


def width(text: str, size: float = TEXT) -> float:
    """Roughly how wide a text is drawn."""
    return max((len(line) for line in text.split("\n")), default=0) * size * WIDE


class Pen:
    """Collects shapes by their look. `finish` makes the figure."""

    def __init__(self) -> None:
        self.closed: dict[tuple[str, str], list[list[Point]]] = defaultdict(list)  # (face, edge) -> polygons
        self.lines: list[list[Point]] = []
        self.texts: list[tuple[Point, str, dict[str, object]]] = []

    def box(self, left: float, top: float, wide: float, high: float, face: str, edge: str = SOFT) -> None:
        """A rectangle."""
        right, bottom = left + wide, top + high
        self.closed[face, edge].append([(left, top), (right, top), (right, bottom), (left, bottom)])

    def arrow(self, *points: Point) -> None:
        """A line through the points with a head at the last."""
        self.lines.append(list(points))
        (x0, y0), (x, y) = points[-2:]
        if x == x0:
            back = -2 * HEAD if y > y0 else 2 * HEAD
            head = [(x, y), (x - HEAD, y + back), (x + HEAD, y + back)]
        else:
            back = -2 * HEAD if x > x0 else 2 * HEAD
            head = [(x, y), (x + back, y - HEAD), (x + back, y + HEAD)]
        self.closed[SOFT, "none"].append(head)

    def text(
        self, x: float, y: float, text: str, *, size: float = TEXT, color: str = INK, across: str = "left"
    ) -> None:
        """A text that begins, ends or is centred at x, centred at y."""
        looks = {"fontsize": size, "color": color, "ha": across, "va": "center_baseline"}
        self.texts.append(((x, y), text, looks))

    def finish(self, wide: float, high: float, said: str) -> Figure:
        """The figure: `wide` x `high` points, described by `said`."""
        figure = Figure(figsize=(wide / INCH, high / INCH))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, wide), ylim=(high, 0), label=said)
        axes.set_axis_off()
        _path(axes, self.lines, "none", SOFT)
        for (face, edge), polygons in self.closed.items():
            _path(axes, [[*points, points[0]] for points in polygons], face, edge)
        for (x, y), text, looks in self.texts:
            axes.text(x, y, text, **looks)  # type: ignore[arg-type]
        return figure


def _path(axes: Axes, lines: list[list[Point]], face: str, edge: str) -> None:
    """Lines of one look, as one element of the file."""
    if not lines:
        return
    codes = [code for points in lines for code in (Path.MOVETO, *[Path.LINETO] * (len(points) - 1))]
    path = Path([point for points in lines for point in points], codes)
    axes.add_patch(PathPatch(path, facecolor=face, edgecolor=edge, linewidth=0.8, joinstyle="miter"))
