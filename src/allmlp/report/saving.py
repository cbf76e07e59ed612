"""A figure as a file, the same bytes each time: SVG for the page, PNG for everywhere else; and back as an element."""

import html
import io
import math
import re
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from allmlp import paths
from allmlp.errors import warn
from allmlp.report import style
from allmlp.report.decades import write_plainly
from allmlp.report.describing import described

UNSAID = {"svg": ("Creator", "Date", "Format", "Type"), "png": ("Software",)}  # Matplotlib's own metadata
LARGEST = 300_000  # bytes; git keeps every figure for ever
GEOMETRY = re.compile(r' (?:d|x|y)="[^"]*"|translate\([^)]*\)')
FINE = re.compile(r"-?\d+\.\d+")
BESIDE = re.compile(r"(?<!^)\s*([MLCQz])\s*")  # a letter of a path with the blanks around it
UNREAD = re.compile(  # unused ids, and rotations by zero
    r'(?<=<g) id="[^"]*"| id="image[0-9a-f]+"| transform="rotate\(-0 [^")]*\)"'
)
NAME = re.compile(r'(\sid="|\shref="#|url\(#)([^")]+)')
STYLE = re.compile(r'(?<=\s)style="([^"]*)"')
POINTS = re.compile(r'(?:(<use href="[^"]*" x="[^"]*" y="[^"]*") (style="[^"]*")/>\n)(?:<use [^>]* \2/>\n)+')
BLANK = re.compile(r"(?<=[:;]) ")
TEXT = re.compile(r"<!--.*?-->|(?<=>)[^<>]+(?=<)", re.DOTALL)
UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML, even escaped
VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
FONT = re.compile(r"font-size:([\d.]+)px")
READABLE = 9  # pixels
METADATA = re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL)


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


def element(file: Path, name: str, title: str = "") -> str:
    """The <svg> element of a figure's file, for a page, as an image with a `title` and its description.

    Its ids and classes begin with `name`, so that a page can hold many. It carries its `shape`.
    """
    svg = METADATA.sub("", (text := file.read_text(encoding="utf-8"))[text.index("<svg") :])
    said = {"role": "img", "aria-label": title, "aria-describedby": f"{name}-said", "style": shape(svg)}
    attributes = "".join(f' {key}="{html.escape(value)}"' for key, value in said.items())
    svg = svg.replace("<desc>", f'<desc id="{name}-said">', 1).replace("<svg", f"<svg{attributes}", 1)
    return re.sub(r'(["#.])f-(?=\d)', rf"\1{name}-", svg)


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


def compact(svg: str) -> str:
    """The same picture, shorter: coordinates to a tenth of a point (to a hundredth below 10), styles as classes.

    The last digits of a coordinate differ from one CPU type to another; those that are kept do not.

    Matplotlib repeats its styles at every point. Definitions and classes are renamed f-0, f-1, ...; a selector is a
    class without an element, because inside a <use> a selector that names an element outside does not match.

    >>> file = '<svg><path id="m3" style="fill: red" d="M 1.23456 7 L 9.9999 -0.0001 z "/><use xlink:href="#m3"/></svg>'
    >>> print(compact(file))
    <svg><style>.f-0{fill:red}</style><path id="f-0" class="f-0" d="M1.23 7L10 0z"/><use href="#f-0"/></svg>
    """
    names: dict[str, int] = {}
    styles: dict[str, int] = {}
    svg = TEXT.sub(lambda found: found[0].replace('"', "&quot;"), svg)  # what follows changes attributes, no text
    text = GEOMETRY.sub(lambda attribute: BESIDE.sub(r"\1", FINE.sub(_rounded, attribute[0])), svg)
    text = re.sub(r"\n\s+", "\n", UNREAD.sub("", text).replace("xlink:href", "href"))
    text = POINTS.sub(_together, text)
    text = NAME.sub(lambda found: f"{found[1]}f-{names.setdefault(found[2], len(names))}", text)
    text = STYLE.sub(lambda found: f'class="f-{styles.setdefault(found[1], len(styles))}"', text)
    rules = "".join(f".f-{number}{{{BLANK.sub('', style)}}}" for style, number in styles.items())
    head, opening, rest = re.split(r"(<svg[^>]*>)", text, maxsplit=1)
    return f"{head}{opening}<style>{rules}</style>{rest}"


def _together(points: re.Match[str]) -> str:
    """Consecutive points of one style, as a group of that style. All properties but opacity are inherited."""
    if re.search(r"(?<!-)opacity", points[2]):
        return points[0]
    return f"<g {points[2]}>\n{points[0].replace(f' {points[2]}', '')}</g>\n"


def _rounded(number: re.Match[str]) -> str:
    value = float(number[0])
    shorter = f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter
