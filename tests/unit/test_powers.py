"""Logarithmic axes of figures are labelled without superscripts, at the ticks that Matplotlib labels."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from allmlp.report import save

TEXT = "{http://www.w3.org/2000/svg}text"


def labels(figure: Figure, file: Path) -> list[str]:
    """What stands in a saved figure."""
    save.save(figure, file, ["a-run"])
    assert "tspan" not in file.read_text(encoding="utf-8")
    return ["".join(text.itertext()) for text in ElementTree.parse(file).iter(TEXT)]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((1e-4, 1e-1), ["1e\N{MINUS SIGN}4", "0.001", "0.01", "0.1"]),
        ((1, 1e5), ["1", "10", "100", "1,000", "1e4", "1e5"]),
        ((2e4, 5e4), ["2e4", "3e4", "4e4"]),
        ((1e10, 1e13), ["1e10", "1e11", "1e12", "1e13"]),
    ],
)
def test_powers_are_written_out_or_behind_an_e(
    tmp_path: Path, limits: tuple[float, float], expected: list[str]
) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot(limits, limits)
    axes.set(xscale="log", xlim=limits, yticks=[])
    assert [label for label in labels(figure, tmp_path / "a.svg") if label in expected] == expected


@pytest.mark.parametrize(
    ("inches", "expected"),
    [(4, ["3,000", "4,000", "6,000"]), (1.6, ["3,000", "6,000"]), (1, ["3,000"])],
)
def test_labels_of_minor_ticks_leave_each_other_room(tmp_path: Path, inches: float, expected: list[str]) -> None:
    figure = Figure(figsize=(inches, 2))
    figure.subplots().set(xscale="log", xlim=(2500, 7500), yticks=[])
    assert labels(figure, tmp_path / "a.svg") == expected


def test_axes_around_zero_and_bars_of_colours_too(tmp_path: Path) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_xscale("symlog", linthresh=10)
    axes.set(xlim=(0, 1e5), yticks=[])
    figure.colorbar(axes.imshow([[1e-5, 1]], norm=LogNorm(), aspect="auto", extent=(0, 1e5, 0, 1)))
    found = labels(figure, tmp_path / "a.svg")
    assert {"0", "100", "1e4"} <= set(found)
    assert {"1e\N{MINUS SIGN}5", "0.01"} & set(found)
