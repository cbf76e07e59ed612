"""A figure's file: few elements, one style for each look, and the marks where Matplotlib put them."""

import re
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure

from allmlp.report import inline, save

SVG = "{http://www.w3.org/2000/svg}"


def saved(file: Path, *lines: list[float]) -> str:
    """A figure of lines with the same marks, as a file. Returns its content."""
    figure = Figure()
    axes = figure.subplots()
    for heights in lines:
        axes.plot(range(len(heights)), heights, "o", color="#0072B2", markersize=3)
    axes.set(xticks=[], yticks=[])
    save.save(figure, file, ["a-run"])
    return file.read_text(encoding="utf-8")


def test_many_points_of_one_look_are_one_element_and_keep_their_places(tmp_path: Path) -> None:
    root = ElementTree.fromstring(saved(tmp_path / "a.svg", [0, 1, 0, 1], [1, 0, 1, 0]))
    assert len(list(root.iter(f"{SVG}marker"))) == 1
    assert len(list(root.iter(f"{SVG}use"))) == 1
    rule = re.search(r"\.(f-\d+)\{fill:none;marker:url\(#f-\d+\)\}", (tmp_path / "a.svg").read_text())
    assert rule
    drawn = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == rule[1]]
    places = [[float(number) for number in re.findall(r"[\d.]+", d)] for d in drawn]
    assert [len(of) for of in places] == [8, 8]
    first, second = ((of[::2], of[1::2]) for of in places)
    assert first[0] == second[0] == sorted(first[0])  # along x
    assert first[1][0] == second[1][1] > first[1][1] == second[1][0]  # y points down


def test_no_group_says_nothing_and_no_style_is_one_of_all_elements(tmp_path: Path) -> None:
    svg = saved(tmp_path / "a.svg", [0, 1])
    assert "<g>" not in svg
    assert "<g/>" not in svg
    assert "*{" not in svg
    ElementTree.fromstring(svg)


def test_figures_of_a_page_share_their_styles_and_no_ids(tmp_path: Path) -> None:
    for name in ("a", "b"):
        saved(tmp_path / f"{name}.svg", [0, 1, 2])
    looks: dict[str, str] = {}
    first, second = (inline.element(tmp_path / f"{name}.svg", f"{name}0", name, looks) for name in ("a", "b"))
    assert "<style" not in first + second
    named = [set(re.findall(r' id="([^"]*)"', svg)) for svg in (first, second)]
    assert named[0]
    assert not named[0] & named[1]
    assert all(f"#{name}" in first + inline.sheet(looks) for name in named[0] if name != "a0-said")
    assert set(re.findall(r'class="([^"]*)"', first + second)) == set(looks.values())
    assert [style for style in looks if "a0-" in style or "b0-" in style] == [
        style for style in looks if "marker:" in style
    ]
    assert inline.sheet(looks).count("{") == len(set(looks))
