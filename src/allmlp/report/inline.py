"""A figure's SVG file as an element of the page: drawn alike, shorter, its names its own in the page."""

import re

UNREAD = re.compile(  # what nothing refers to, and turns by nothing
    r'<metadata>.*?</metadata>\s*|(?<=<g) id="[^"]*"| id="image[0-9a-f]+"| transform="rotate\(-0 [^")]*\)"', re.DOTALL
)
NAME = re.compile(r'(\sid="|\shref="#|url\(#)([^")]+)')
STYLE = re.compile(r'(?<=\s)style="([^"]*)"')


def inlined(svg: str, name: str) -> str:
    """The SVG element of a file. What it defines, and the classes of its styles, are called `name`-0, `name`-1, ...

    Styles, which Matplotlib repeats at every point, become classes; without the element's id before them, for inside a
    <use> nothing outside is matched.

    >>> file = '<?xml?><svg><path id="m3" style="fill: red"/><use xlink:href="#m3" style="fill: red"/></svg>'
    >>> print(inlined(file, "f"))
    <svg><style>.f-0{fill: red}</style><path id="f-0" class="f-0"/><use href="#f-0" class="f-0"/></svg>
    """
    names: dict[str, int] = {}
    styles: dict[str, int] = {}
    text = UNREAD.sub("", svg[svg.index("<svg") :]).replace("xlink:href", "href")
    text = re.sub(r"\n\s+", "\n", text)
    text = NAME.sub(lambda found: f"{found[1]}{name}-{names.setdefault(found[2], len(names))}", text)
    text = STYLE.sub(lambda found: f'class="{name}-{styles.setdefault(found[1], len(styles))}"', text)
    rules = "".join(f".{name}-{number}{{{style}}}" for style, number in styles.items())
    opening, rest = text.split(">", 1)
    return f"{opening}><style>{rules}</style>{rest}"
