"""A figure as two files, the same bytes each time: SVG for the page, PNG for everywhere else."""

import io
import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from allmlp import paths
from allmlp.errors import warn
from allmlp.report import style

SUFFIXES = ("svg", "png")
LARGEST = 300_000  # bytes; git keeps every figure for ever
GEOMETRY = re.compile(r' (?:d|x|y)="[^"]*"')
FINE = re.compile(r"-?\d+\.\d{3,}")


def save(figure: Figure, stem: Path, runs: list[str]) -> None:
    """Write `stem`.svg and .png, which name the runs that they show. One that is too large is said."""
    for suffix in SUFFIXES:
        buffer = io.BytesIO()
        said = {"Description": f"runs: {' '.join(runs)}"}
        metadata = {**said, "Date": None} if suffix == "svg" else {**said, "Software": None}
        with matplotlib.rc_context(style.RC):
            figure.savefig(buffer, format=suffix, metadata=metadata)
        figure.set_layout_engine("none")  # what is laid out once stays so: it takes half of the time
        content = buffer.getvalue()
        if suffix == "svg":
            content = compact(content.decode("utf-8")).encode("utf-8")
        if len(content) > LARGEST:
            size = f"{len(content):,} bytes, more than {LARGEST:,}"
            warn(f"{stem}.{suffix}: {size}; git keeps it for ever. Draw fewer points.")
        paths.write_whole(stem.with_name(f"{stem.name}.{suffix}"), content)


def compact(svg: str) -> str:
    """The same picture with its coordinates to a hundredth of a point.

    >>> compact('<path d="M 1.23456 7 L 20.999999 -0.0001"/><text x="3.14159">3.14159</text>')
    '<path d="M 1.23 7 L 21 0"/><text x="3.14">3.14159</text>'
    """
    return GEOMETRY.sub(lambda attribute: FINE.sub(_rounded, attribute[0]), svg)


def _rounded(number: re.Match[str]) -> str:
    shorter = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter
