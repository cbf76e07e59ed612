"""A figure as a file, the same bytes each time: SVG for the page, PNG for everywhere else; and back as an element."""

import html
import io
import math
import re
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from allmlp import paths
from allmlp.errors import warn
from allmlp.report import style
from allmlp.report.compact import compact
from allmlp.report.decades import write_plainly
from allmlp.report.describing import described

UNSAID = {"svg": ("Creator", "Date", "Format", "Type"), "png": ("Software",)}  # Matplotlib's own metadata
LARGEST = 300_000  # bytes; git keeps every figure for ever
UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML, even escaped
VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
FONT = re.compile(r"font-size:([\d.]+)px")
READABLE = 9  # pixels
METADATA = re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL)
RULES = re.compile(r"<style>(.*?)</style>")
RULE = re.compile(r"[^}]*\}")


class Element(NamedTuple):
    """An <svg> element, and the rules of its classes."""

    svg: str
    rules: list[str]


def save(figure: Figure, file: Path, runs: list[str]) -> None:
    """Write an SVG or PNG file that names the runs that it shows. Warn of one that is too large."""
    buffer, suffix = io.BytesIO(), file.suffix[1:]
    said = {"Description": f"runs: {' '.join(run[-8:] for run in runs)}"}  # the digests at the ends of their ids
    with matplotlib.rc_context(style.rc()):
        write_plainly(figure)
        if suffix == "svg":
            _lay_out(figure)
        figure.savefig(buffer, format=suffix, metadata={**said, **dict.fromkeys(UNSAID[suffix])})
    content = buffer.getvalue()
    if suffix == "svg":
        text = compact(content.decode("utf-8"))
        text = text.replace("</style>", f"</style><desc>{html.escape(described(figure))}</desc>", 1)
        content = UNWRITABLE.sub("\ufffd", text).encode("utf-8")
    if len(content) > LARGEST:
        warn(f"{file}: {len(content):,} bytes, more than {LARGEST:,}; git keeps it for ever. Draw fewer points.")
    paths.write_whole(file, content)


def element(file: Path, name: str, title: str = "") -> Element:
    """The <svg> element of a figure's file, for a page, as an image with a `title` and its description.

    Its ids begin with `name`, so that a page can hold many. It carries its `shape`. Its rules are apart: each style
    sheet inside a page makes a browser look at every element of the page again, and figures share most rules.
    """
    svg = METADATA.sub("", (text := file.read_text(encoding="utf-8"))[text.index("<svg") :]).replace(">\n<", "><")
    said = {"role": "img", "aria-label": title, "aria-describedby": f"{name}-said", "style": shape(svg)}
    attributes = "".join(f' {key}="{html.escape(value)}"' for key, value in said.items())
    rules = [rule for sheet in RULES.findall(svg) for rule in RULE.findall(sheet)]
    svg = RULES.sub("", svg).replace("<desc>", f'<desc id="{name}-said">', 1).replace("<svg", f"<svg{attributes}", 1)
    return Element(re.sub(r'(["#])f-(?=\d)', rf"\1{name}-", svg), rules)


def shape(svg: str) -> str:
    """What a page must know of a drawing: its ratio, so that it can be laid out before it is drawn, and the least width
    at which all its text has READABLE pixels.

    >>> shape('<svg viewBox="0 0 504 187.2"><style>.f-0{font-size:8.8px}.f-1{font-size:6px}</style></svg>')
    'aspect-ratio:504/187.2;--readable:756px'
    """
    size, letters = VIEW_BOX.search(svg), [float(found) for found in FONT.findall(svg)]
    if size is None:
        return ""
    readable = f";--readable:{math.ceil(READABLE / min(letters) * float(size[1]))}px" if letters else ""
    return f"aspect-ratio:{size[1]}/{size[2]}{readable}"


def _lay_out(figure: Figure) -> None:
    """Lay out as `savefig` would, without drawing the whole figure for it."""
    if (engine := figure.get_layout_engine()) is not None:
        FigureCanvasSVG(figure)
        figure.dpi = 72  # of an SVG
        engine.execute(figure)
        figure.set_layout_engine(None)
