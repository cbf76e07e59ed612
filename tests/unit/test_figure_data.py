"""A figure's numbers as a table: what was drawn comes back, under the names of labels, legends and places."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allmlp.report.figure_data import DIGITS, LONGEST, figure_data
from allmlp.report.inline import data
from allmlp.report.save import save
from tests.conftest import PROJECT


def series(figure: Figure, panel: int = 0) -> list[dict[str, list[float] | str]]:
    """Those of a panel, with their columns in place."""
    found = figure_data(figure)
    return [
        {key: of if key == "name" else found["columns"][of] for key, of in one.items()}
        for one in found["panels"][panel]["series"]
    ]


@given(st.lists(st.floats(-1e6, 1e6).map(lambda value: float(f"{value:.{DIGITS}g}")), min_size=1, max_size=20))
def test_the_points_of_a_line_come_back(values: list[float]) -> None:
    figure = Figure()
    figure.subplots().plot(range(len(values)), values, label="ours")
    assert series(figure) == [{"name": "ours", "x": list(range(len(values))), "y": values}]


def test_every_kind_of_mark_comes_back() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set(title="one\npanel", xlabel="step", ylabel="loss (nats)")
    axes.errorbar([1, 2], [3, 4], yerr=[0.5, 0.25], label="bars of error", color="C0")
    axes.errorbar([1], [3], xerr=[[0.5], [1]], fmt="none", ecolor="C1")
    axes.scatter([1, np.nan], [2, 3], label="dots", color="C2")
    axes.fill_between([1, 2, 3], [0, 1, 2], [5, 6, 7], color="C3")
    axes.bar([1, 2], [7, 8], label="bars", color="C4")
    axes.barh([1], [9], color="C5")
    axes.hlines([4], 1, 2, color="C6")
    axes.stairs([1, 2], [0, 10, 20], color="C7")
    axes.text(1, 2, "said  here")
    axes.axhline(0.5, color="C8")
    axes.imshow([[1, 2], [3, np.nan]], extent=(0, 2, 2, 0))
    axes.imshow(np.zeros((2, 2, 3)))
    assert figure_data(figure)["panels"][0]["title"] == "one panel"
    found = series(figure)
    for one in (
        {"name": "bars of error", "x": [1, 2], "y": [3, 4], "y_low": [2.5, 3.75], "y_high": [3.5, 4.25]},
        {"name": "", "x": [1.25], "y": [3], "x_low": [0.5], "x_high": [2]},
        {"name": "dots", "x": [1], "y": [2]},
        {"name": "", "x": [1, 2, 3], "y_low": [0, 1, 2], "y_high": [5, 6, 7]},
        {"name": "bars", "x": [1, 2], "y": [7, 8]},
        {"name": "", "x": [9], "y": [1]},
        {"name": "", "y": [4], "x_low": [1], "x_high": [2]},
        {"name": "", "x_low": [0, 10], "x_high": [10, 20], "y": [1, 2]},
        {"name": "", "x": [1], "y": [2], "text": ["said here"]},
        {"name": "", "x": [0.5, 1.5, 0.5], "y": [0.5, 0.5, 1.5], "value": [1, 2, 3]},
    ):
        assert one in found
    assert len(found) == 10, "neither a line across the panel nor a picture of colours"


def test_a_series_without_a_label_is_called_by_its_colour_in_the_legend() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([1], [2], color="red")
    right.plot([1], [3], color="blue")
    right.legend(handles=[Line2D([], [], color="red", label="mixer"), Line2D([], [], color="blue", label="a"),
                          Line2D([], [], color="blue", linestyle="--", label="b")])  # fmt: skip
    assert series(figure)[0]["name"] == "mixer"
    assert series(figure, 1)[0]["name"] == "", "two names have this colour"


def test_places_with_names_are_called_by_them_on_every_panel_that_shares_them() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2, sharey=True)
    left.scatter([0.5, 0.6], [0.1, 0.9])
    right.scatter([3], [1])
    left.set_yticks([0, 1], ["mixer", "Llama"])
    assert series(figure)[0]["y"] == ["mixer", "Llama"]
    assert series(figure, 1)[0]["y"] == ["Llama"]
    left.scatter([0.5], [0.5])
    assert 0.5 in series(figure)[0]["y"], "between two places there is no name"


def test_a_long_line_is_thinned_to_its_ends_and_dots_are_not() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot(range(5000), range(5000), label="line")
    axes.scatter(range(5000), range(5000), label="dots")
    line, dots = series(figure)
    assert len(line["x"]) == LONGEST
    assert (line["x"][0], line["x"][-1]) == (0, 4999)
    assert len(dots["x"]) == 5000


@pytest.mark.usefixtures("committed_results")
def test_every_figure_that_is_no_diagram_carries_its_numbers() -> None:
    files = sorted((PROJECT / "results/figures").glob("*/*.svg"))
    without = {file.stem for file in files if data(file) is None}
    assert len(files) > 90
    assert {name for name in without if not name.endswith("_diagram")} == {"keyword_neurons"}, "which is words"


def test_the_numbers_come_out_of_a_file_as_they_went_in(tmp_path: Path) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2], [0.25, 1e-9], label="a < b & 'c' </script>")
    save(figure, tmp_path / "one.svg", ["run-12345678"])
    assert data(tmp_path / "one.svg") == figure_data(figure)


DRAWN = """
from matplotlib.figure import Figure
from allmlp.report.figure_data import figure_data
axes = (figure := Figure()).subplots()
axes.errorbar([1, 2], [3, 4], yerr=[5, 6], label="one")
axes.fill_between([1, 2], [7, 8], [9, 10], label="two")
print(figure_data(figure))
"""


def test_the_numbers_stand_in_one_order_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", DRAWN], env={**os.environ, "PYTHONHASHSEED": str(seed)}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in range(4)
    }  # fmt: skip
    assert len(said) == 1
