"""A figure as a file, the same bytes each time: SVG for the page, PNG for everywhere else."""

import html
import io
import json
import re
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from allmlp.common import paths
from allmlp.common.errors import warn
from allmlp.report import style
from allmlp.report.figure_data import figure_data
from allmlp.report.figure_text import describe_figure
from allmlp.report.powers import use_plain_numbers

UNSAID = {"svg": ("Creator", "Date", "Format", "Type"), "png": ("Software",)}  # Matplotlib's own metadata
LARGEST = 300_000  # bytes; git keeps every figure for ever
GEOMETRY = re.compile(r' (?:d|x|y)="[^"]*"|translate\([^)]*\)')
FINE = re.compile(r"-?\d+\.\d+")
BESIDE = re.compile(r"(?<!^)\s*([MLCQz])\s*|\s+(?=\"$)")  # a letter of a path with the blanks around it, and the last
UNREAD = re.compile(  # unused ids, and rotations by zero
    r'(?<=<g) id="[^"]*"| id="image[0-9a-f]+"| transform="rotate\(-0 [^")]*\)"'
)
NAME = re.compile(r'(\sid="|\shref="#|url\(#)([^")]+)')
STYLE = re.compile(r'(?<=\s)style="([^"]*)"')
EVERYWHERE = re.compile(r'<defs>\s*<style type="text/css">\*\{([^}]*)\}</style>\s*</defs>\s*')
GROUP = re.compile(r"(<g>\n?|<g [^>]*[^/]>|</g>\n?)")
POINT = r'<use href="([^"]*)" x="([^"]*)" y="([^"]*)" (style="[^"]*")/>\n'
POINTS = re.compile(rf'{POINT}(?:<use href="\1" [^>]* \4/>\n)+')
UNCUT = 'overflow="visible" markerUnits="userSpaceOnUse"'  # a marker as large as it was drawn
BLANK = re.compile(r"(?<=[:;]) ")
TEXT = re.compile(r"<!--.*?-->|(?<=>)[^<>]+(?=<)", re.DOTALL)
UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML, even escaped


def save(figure: Figure, file: Path, runs: list[str]) -> None:
    """Write an SVG or PNG file that names the runs that it shows. Warn of one that is too large."""
    buffer, suffix = io.BytesIO(), file.suffix[1:]
    said = {"Description": f"runs: {' '.join(run[-8:] for run in runs)}"}  # the digests at the ends of their ids
    with matplotlib.rc_context(style.rc()):
        use_plain_numbers(figure)
        if suffix == "svg":
            _lay_out(figure)
        figure.savefig(buffer, format=suffix, metadata={**said, **dict.fromkeys(UNSAID[suffix])})
    content = buffer.getvalue()
    if suffix == "svg":
        text = compact(content.decode("utf-8"))
        text = text.replace(
            "</style>", f"</style><desc>{html.escape(describe_figure(figure))}</desc>{_data(figure)}", 1
        )
        content = UNWRITABLE.sub("\ufffd", text).encode("utf-8")
    if len(content) > LARGEST:
        warn(f"{file}: {len(content):,} bytes, more than {LARGEST:,}; git keeps it for ever. Draw fewer points.")
    paths.write_atomically(file, content)


def _data(figure: Figure) -> str:
    """What the figure shows, as JSON in an element of its file; empty for a diagram."""
    found = figure_data(figure)
    written = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return f'<metadata class="data">{html.escape(written, quote=False)}</metadata>' if found["panels"] else ""


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

    A browser builds every element of a page. So groups that say nothing go, and many points of one look are one line
    with that marker.

    >>> file = '<svg><path id="m3" style="fill: red" d="M 1.23456 7 L 9.9999 0z"/><g><use xlink:href="#m3"/></g></svg>'
    >>> print(compact(file))
    <svg><style>.f-0{fill:red}</style><path id="f-0" class="f-0" d="M1.23 7L10 0z"/><use href="#f-0"/></svg>
    """
    names: dict[str, int] = {}
    styles: dict[str, int] = {}
    markers: dict[tuple[str, str], str] = {}
    svg = TEXT.sub(lambda found: found[0].replace('"', "&quot;"), svg)  # what follows changes attributes, no text
    text = GEOMETRY.sub(lambda attribute: BESIDE.sub(r"\1", FINE.sub(_round_number, attribute[0])), svg)
    text = re.sub(r"\n\s+", "\n", UNREAD.sub("", _inherit_style(text)).replace("xlink:href", "href"))
    text = POINTS.sub(lambda found: _merge_points(found, markers), _drop_groups(text))
    text = NAME.sub(lambda found: f"{found[1]}f-{names.setdefault(found[2], len(names))}", text)
    text = STYLE.sub(lambda found: f'class="f-{styles.setdefault(found[1], len(styles))}"', text)
    rules = "".join(f".f-{number}{{{BLANK.sub('', style)}}}" for style, number in styles.items())
    head, opening, rest = re.split(r"(<svg[^>]*>)", text, maxsplit=1)
    return f"{head}{opening}<style>{rules}</style>{rest}"


def _inherit_style(svg: str) -> str:
    """Matplotlib's style of all elements, as the picture's own: in a page it would be that of every element."""
    everywhere = EVERYWHERE.search(svg)
    return EVERYWHERE.sub("", svg).replace("<svg", f'<svg style="{everywhere[1]}"', 1) if everywhere else svg


def _drop_groups(svg: str) -> str:
    """Without groups that say nothing about what is in them."""
    kept: list[str] = []
    opened: list[bool] = []  # of each group around: does it stay?
    for number, piece in enumerate(GROUP.split(svg.replace("<g/>\n", ""))):
        if number % 2 == 0:
            stays = True
        elif piece.startswith("</"):
            stays = opened.pop()
        else:
            opened.append(stays := not piece.startswith("<g>"))
        kept += [piece] * stays
    return "".join(kept)


def _merge_points(points: re.Match[str], markers: dict[tuple[str, str], str]) -> str:
    """Consecutive points of one look, as an unseen line with a marker of that look; each marker is defined once."""
    look, number = (points[1], points[4]), len(markers)
    name = markers.setdefault(look, f"points{number}")
    defined = f'<marker id="{name}" {UNCUT}><use href="{look[0]}" {look[1]}/></marker>\n'
    line = " ".join(f"{x} {y}" for _, x, y, _ in re.findall(POINT, points[0]))
    return f'{defined * (len(markers) > number)}<path d="M{line}" style="fill:none;marker:url(#{name})"/>\n'


def _round_number(number: re.Match[str]) -> str:
    value = float(number[0])
    shorter = f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter
