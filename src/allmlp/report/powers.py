"""Labels of logarithmic axes without superscripts: those are too small where figures stand beside each other."""

from collections.abc import Iterator
from typing import Any

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, LogFormatterMathtext

LETTER, LINE, GAP = 0.6, 1.2, 0.6  # width and height of a label's letters, and room between two, in sizes of the font


class PlainFormatter(Formatter):
    """Labels the ticks that another formatter labels, in plain figures. `minor`: those that leave room for each other
    and for the labels of major ticks: on an axis of less than a power of ten they would run into each other.
    """

    def __init__(self, labels: Formatter, minor: bool = False) -> None:
        self.labels, self.minor = labels, minor
        self.crowded: set[float] = set()

    def set_axis(self, axis: Any) -> None:
        super().set_axis(axis)
        self.labels.set_axis(axis)

    def set_locs(self, locs: list[float]) -> None:
        self.labels.set_locs(locs)
        self.crowded = set(self._without_room(locs)) if self.minor else set()

    def __call__(self, x: float, pos: int | None = None) -> str:
        return format_plain(x) if self.labels(x, pos) and x not in self.crowded else ""

    def _without_room(self, locs: list[float]) -> Iterator[float]:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        size = axis.get_major_ticks(1)[0].label1.get_fontsize() * axis.figure.dpi / 72
        taken = [(self._pixel(x), len(format_plain(x))) for x in axis.get_majorticklocs() if low <= x <= high]
        for x in locs:
            if low <= x <= high and self.labels(x):
                at, letters = self._pixel(x), len(format_plain(x))
                if all(abs(at - other) >= size * self._needed(letters, n) for other, n in taken):
                    taken.append((at, letters))
                else:
                    yield x

    def _needed(self, letters: int, others: int) -> float:
        """From the middle of a label to that of another, in sizes of the font."""
        axis: Any = self.axis
        return LINE if axis.axis_name == "y" else LETTER * (letters + others) / 2 + GAP

    def _pixel(self, x: float) -> float:
        axis: Any = self.axis
        corner = (axis.axes.get_xlim()[0], axis.axes.get_ylim()[0])
        place = (corner[0], x) if axis.axis_name == "y" else (x, corner[1])
        return float(axis.axes.transData.transform(place)[int(axis.axis_name == "y")])


def format_plain(value: float) -> str:
    """A number of a tick: written out from 0.001 to 9,999, and otherwise with the power of ten behind an e.

    >>> [format_plain(value) for value in (0.001, 0.25, 1000, 1e4, 2e-05, -3e12, 0)]
    ['0.001', '0.25', '1,000', '1e4', '2e\N{MINUS SIGN}5', '\N{MINUS SIGN}3e12', '0']
    """
    written = f"{value:,g}"
    if value and not 1e-3 <= abs(value) < 1e4:
        digits, exponent = f"{value:e}".split("e")
        written = f"{float(digits):g}e{int(exponent)}"
    return written.replace("-", "\N{MINUS SIGN}")  # as on Matplotlib's other axes


def use_plain_numbers(figure: Figure) -> None:
    """Replace Matplotlib's labels of the logarithmic axes of a figure."""
    for axis in figure.findobj(Axis):
        for formatter, replace, minor in (
            (axis.get_major_formatter(), axis.set_major_formatter, False),
            (axis.get_minor_formatter(), axis.set_minor_formatter, True),
        ):
            if isinstance(formatter, LogFormatterMathtext):
                replace(PlainFormatter(formatter, minor))
