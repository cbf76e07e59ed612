"""A figure of Matplotlib's as the same picture in fewer bytes and elements, the same on each CPU."""

import hashlib
import re

GEOMETRY = re.compile(r' (?:d|x|y)="[^"]*"|translate\([^)]*\)')
FINE = re.compile(r"-?\d+\.\d+")
BESIDE = re.compile(r"(?<!^)\s*([MLCQz])\s*")  # a letter of a path with the blanks around it
UNREAD = re.compile(  # unused ids, and rotations by zero
    r'(?<=<g) id="[^"]*"| id="image[0-9a-f]+"| transform="rotate\(-0 [^")]*\)"'
)
EVERYWHERE = re.compile(r'<svg([^>]*>.*?)<defs>\s*<style type="text/css">\*\{([^}]*)\}</style>\s*</defs>', re.DOTALL)
GROUP = re.compile(r"<g( [^>]*[^/>])?(/?)>|</g>")
NAME = re.compile(r'(\sid="|\shref="#|url\(#)([^")]+)')
STYLE = re.compile(r'(?<=\s)style="((?:(?!url\()[^"])*)"')  # one with a pattern is of its own figure: it stays
POINTS = re.compile(r'(?:(<use href="[^"]*" x="[^"]*" y="[^"]*") (style="[^"]*")/>\n)(?:<use [^>]* \2/>\n)+')
BLANK = re.compile(r"(?<=[:;]) ")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")


def compact(svg: str) -> str:
    """The same picture, shorter: coordinates to a tenth of a point (to a hundredth below 10), styles as classes, and no
    group that says nothing.

    The last digits of a coordinate differ from one CPU type to another; those that are kept do not.

    Matplotlib repeats its styles at every point. Definitions are renamed f-0, f-1, ...; a class has the digest of its
    style as its name, the same in every figure. A selector is a class without an element, because inside a <use> a
    selector that names an element outside does not match. Matplotlib's rule for all elements becomes the outermost
    element's: its properties are inherited, and it would hold for the page around.

    >>> file = '<path id="m3" style="fill: red" d="M 1.23456 7 L 9.9999 -0.0001 z "/><use xlink:href="#m3"/>'
    >>> print(compact(f"<svg><g>{file}</g></svg>"))
    <svg><style>.sb6dd6e24{fill:red}</style><path id="f-0" class="sb6dd6e24" d="M1.23 7L10 0z"/><use href="#f-0"/></svg>
    """
    names: dict[str, int] = {}
    styles: dict[str, str] = {}
    svg = TEXT.sub(lambda found: found[0].replace('"', "&quot;"), COMMENT.sub("", svg))  # what follows changes no text
    svg = EVERYWHERE.sub(r'<svg style="\2"\1', svg)
    text = GEOMETRY.sub(lambda attribute: BESIDE.sub(r"\1", FINE.sub(_rounded, attribute[0])), svg)
    text = re.sub(r"\n\s+", "\n", _ungrouped(UNREAD.sub("", text)).replace("xlink:href", "href"))
    text = POINTS.sub(_together, text)
    text = NAME.sub(lambda found: f"{found[1]}f-{names.setdefault(found[2], len(names))}", text)
    text = STYLE.sub(lambda found: f'class="{styles.setdefault(found[1], _class(found[1]))}"', text)
    rules = "".join(f".{name}{{{BLANK.sub('', style)}}}" for style, name in styles.items())
    head, opening, rest = re.split(r"(<svg[^>]*>)", text, maxsplit=1)
    return f"{head}{opening}<style>{rules}</style>{rest}"


def _class(style: str) -> str:
    return f"s{hashlib.sha256(style.encode()).hexdigest()[:8]}"


def _ungrouped(svg: str) -> str:
    """Without the groups that have no attribute or no content."""
    said: list[bool] = []  # of each group around: has it attributes?

    def tag(found: re.Match[str]) -> str:
        if found[2]:
            return ""
        if found[0] != "</g>":
            said.append(found[1] is not None)
            return found[0] if said[-1] else ""
        return found[0] if said.pop() else ""

    return GROUP.sub(tag, svg)


def _together(points: re.Match[str]) -> str:
    """Consecutive points of one style, as a group of that style. All properties but opacity are inherited."""
    if re.search(r"(?<!-)opacity", points[2]):
        return points[0]
    return f"<g {points[2]}>\n{points[0].replace(f' {points[2]}', '')}</g>\n"


def _rounded(number: re.Match[str]) -> str:
    value = float(number[0])
    shorter = f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter
