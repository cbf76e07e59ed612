"""Text in a figure stays text: none of it becomes a style or an element of the page."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from allmlp.report import inline, save

STYLE = 'a style="}*{background:url(https://example.org/a)}" b'


def drawn(title: str) -> Figure:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1])
    axes.set_title(title)
    return figure


@pytest.mark.parametrize(
    "text", [STYLE, f"$x$ {STYLE}", "<script>alert(1)</script>", '</text><image href="https://e.org"/>']
)
def test_a_label_becomes_no_style_and_no_element(tmp_path: Path, text: str) -> None:
    figure = drawn(text)
    save.save(figure, tmp_path / "a.svg", ["a-run"])
    looks: dict[str, str] = {}
    svg = inline.element(tmp_path / "a.svg", "f0", "a", looks)
    assert not re.search(r"<script|<image|<style", svg)
    assert looks
    assert "url(https" not in inline.sheet(looks)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_character_that_xml_has_not_leaves_a_file_that_is_read(tmp_path: Path) -> None:
    figure = drawn("a\x07b\x1b[2J\ufffe")
    save.save(figure, tmp_path / "a.svg", ["a-run"])
    assert "a\ufffdb\ufffd[2J\ufffd" in "".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
