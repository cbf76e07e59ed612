"""Labels of logarithmic axes as large as all others: 100, 1e4. A raised exponent is smaller than a page can show."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

PLAIN = 1000  # up to here, and down to its inverse


class Decades(LogFormatterSciNotation):
    """Labels the ticks that Matplotlib would label."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return written(x) if super().__call__(x, pos) else ""


def written(value: float) -> str:
    """A number in few letters.

    >>> [written(value) for value in (0, 0.001, 20, 1000, 1e4, 2e-5, -1e10)]
    ['0', '0.001', '20', '1,000', '1e4', '2e\N{MINUS SIGN}5', '\N{MINUS SIGN}1e10']
    """
    if value == 0 or 1 / PLAIN <= abs(value) <= PLAIN:
        return f"{value:,g}".replace("-", "\N{MINUS SIGN}")
    digits, exponent = f"{value:.3e}".split("e")
    return f"{float(digits):g}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")


def write_plainly(figure: Figure) -> None:
    """Label the figure's logarithmic axes like this, except where it says how itself."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        scale: Any = axis.get_transform()
        for place, found in (("major", axis.get_major_formatter()), ("minor", axis.get_minor_formatter())):
            if type(found) is LogFormatterSciNotation:
                limit = getattr(scale, "linthresh", None)
                formatter = Decades(scale.base, labelOnlyBase=found.labelOnlyBase, linthresh=limit)
                getattr(axis, f"set_{place}_formatter")(formatter)
