"""A figure as a file, the same bytes each time: SVG for the page, PNG for everywhere else."""

import io
import re
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from allmlp import paths
from allmlp.errors import warn
from allmlp.report import style

LARGEST = 300_000  # bytes; git keeps every figure for ever
GEOMETRY = re.compile(r' (?:d|x|y)="[^"]*"')
FINE = re.compile(r"-?\d+\.\d{3,}")


def save(figure: Figure, file: Path, runs: list[str]) -> None:
    """Write an SVG or PNG file that names the runs that it shows. Warn of one that is too large."""
    buffer, suffix = io.BytesIO(), file.suffix[1:]
    said = {"Description": f"runs: {' '.join(runs)}"}
    with matplotlib.rc_context(style.rc()):
        if suffix == "svg":
            _lay_out(figure)
        figure.savefig(buffer, format=suffix, metadata={**said, ("Date" if suffix == "svg" else "Software"): None})
    content = buffer.getvalue()
    if suffix == "svg":
        content = compact(content.decode("utf-8")).encode("utf-8")
    if len(content) > LARGEST:
        warn(f"{file}: {len(content):,} bytes, more than {LARGEST:,}; git keeps it for ever. Draw fewer points.")
    paths.write_whole(file, content)


def _lay_out(figure: Figure) -> None:
    """Lay out as `savefig` would. It draws the whole figure for that, and throws the drawing away."""
    if (engine := figure.get_layout_engine()) is not None:
        FigureCanvasSVG(figure)
        figure.dpi = 72  # of an SVG
        engine.execute(figure)
        figure.set_layout_engine(None)


def compact(svg: str) -> str:
    """The same picture with its coordinates to a hundredth of a point.

    >>> compact('<path d="M 1.23456 7 L 20.999999 -0.0001"/><text x="3.14159">3.14159</text>')
    '<path d="M 1.23 7 L 21 0"/><text x="3.14">3.14159</text>'
    """
    return GEOMETRY.sub(lambda attribute: FINE.sub(_rounded, attribute[0]), svg)


def _rounded(number: re.Match[str]) -> str:
    shorter = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter
