"""A figure's SVG file as an element of the page: drawn alike, two thirds as large, its names its own in the page."""

import re

UNREAD = re.compile(r'<metadata>.*?</metadata>\s*|(?<=<g) id="[^"]*"| transform="rotate\(-0 [^")]*\)"', re.DOTALL)
NAME = re.compile(r'(id="|href="#|url\(#)([^")]+)')
STYLE = re.compile(r'style="([^"]*)"')


def inlined(svg: str, name: str) -> str:
    """The SVG element of a file. `name` is its id; what it defines is called `name`-0, `name`-1, ...

    Styles, which Matplotlib repeats at every point, become classes of this element.

    >>> file = '<?xml?><svg><path id="m3" style="fill: red"/><use xlink:href="#m3" style="fill: red"/></svg>'
    >>> print(inlined(file, "f"))
    <svg id="f"><style>#f .s0{fill: red}</style><path id="f-0" class="s0"/><use href="#f-0" class="s0"/></svg>
    """
    names: dict[str, int] = {}
    styles: dict[str, int] = {}
    text = UNREAD.sub("", svg[svg.index("<svg") :]).replace("xlink:href", "href")
    text = re.sub(r"\n\s+", "\n", text)
    text = NAME.sub(lambda found: f"{found[1]}{name}-{names.setdefault(found[2], len(names))}", text)
    text = STYLE.sub(lambda found: f'class="s{styles.setdefault(found[1], len(styles))}"', text)
    rules = "".join(f"#{name} .s{number}{{{style}}}" for style, number in styles.items())
    opening, rest = text.split(">", 1)
    return f'<svg id="{name}"{opening.removeprefix("<svg")}><style>{rules}</style>{rest}'
