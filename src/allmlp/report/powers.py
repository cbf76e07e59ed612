"""Labels of logarithmic axes without superscripts: those are too small where figures stand beside each other."""

from typing import Any

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, LogFormatterMathtext


class PlainFormatter(Formatter):
    """Labels the ticks that another formatter labels, in plain figures."""

    def __init__(self, labels: Formatter) -> None:
        self.labels = labels

    def set_axis(self, axis: Any) -> None:
        super().set_axis(axis)
        self.labels.set_axis(axis)

    def set_locs(self, locs: list[float]) -> None:
        self.labels.set_locs(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        return format_plain(x) if self.labels(x, pos) else ""


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
        for formatter, replace in (
            (axis.get_major_formatter(), axis.set_major_formatter),
            (axis.get_minor_formatter(), axis.set_minor_formatter),
        ):
            if isinstance(formatter, LogFormatterMathtext):
                replace(PlainFormatter(formatter))
