"""A figure's file as an element of a page that holds many."""

import html
import json
import math
import re
from pathlib import Path
from typing import Any

VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
FONT = re.compile(r"font-size:([\d.]+)px")
READABLE = 9  # pixels
METADATA = re.compile(r"<metadata[^>]*>.*?</metadata>", re.DOTALL)
DATA = re.compile(r'<metadata class="data">(.*?)</metadata>')
STYLE = re.compile(r"<style>(.*?)</style>")
ID = re.compile(r'( id="|#)f-(?=\d)')
RULE = re.compile(r"\.(f-\d+)\{([^}]*)\}")
CLASS = re.compile(r'(?<= class=")f-\d+')
BETWEEN = re.compile(r"(?<=>)\s+(?=<)")


def element(file: Path, name: str, title: str, looks: dict[str, str]) -> str:
    """The <svg> element of a figure's file, for a page, as an image with a `title` and its description.

    Its ids begin with `name`, so that a page can hold many. It carries its `shape`. Its styles join `looks`, style ->
    class, of which the page has one sheet: at every further sheet a browser looks at all elements again.
    """
    svg = METADATA.sub("", (text := file.read_text(encoding="utf-8"))[text.index("<svg") :])
    said = {"role": "img", "aria-label": title, "aria-describedby": f"{name}-said", "style": shape(svg)}
    attributes = "".join(f' {key}="{html.escape(value)}"' for key, value in said.items())
    svg = svg.replace("<desc>", f'<desc id="{name}-said">', 1).replace("<svg", f"<svg{attributes}", 1)
    svg = ID.sub(rf"\1{name}-", svg)
    rules = RULE.findall("".join(STYLE.findall(svg)))
    classes = {own: looks.setdefault(style, f"s-{len(looks)}") for own, style in rules}
    return BETWEEN.sub("", CLASS.sub(lambda own: classes.get(own[0], own[0]), STYLE.sub("", svg)))


def data(file: Path) -> Any:
    """What a figure shows, by its file, as `report.figure_data` has it; None for a diagram."""
    found = DATA.search(file.read_text(encoding="utf-8"))
    return json.loads(html.unescape(found[1])) if found else None


def sheet(looks: dict[str, str]) -> str:
    """The styles of all elements that were given `looks`."""
    return "".join(f".{name}{{{style}}}" for style, name in looks.items())


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
