"""A panel with fewer than two marks shows nothing, and is not drawn."""

import numpy as np
import pytest

from allmlp.common import paths
from allmlp.judging import evidence
from allmlp.report import style
from allmlp.report.sparse import FEWEST, LINE, count_marks, drop_sparse_panels
from tests import exhibits


def one_cell(axis):
    axis.imshow([[0.5]])


def one_point_and_references(axis):
    axis.errorbar(1, 2, yerr=1, fmt="o", capsize=2)
    style.mark_paper(axis, [1.5, 2.5])
    axis.plot([], [], label="only in the legend")


def nothing_known(axis):
    axis.plot([1, 2], [np.nan, np.nan])
    axis.scatter([np.nan], [1])


def line(axis):
    axis.plot([1, 2], [3, 4])


def cloud(axis):
    axis.scatter([1, 2, 3], [1, 1, 1])


def bars(axis):
    axis.bar([1, 2], [0.5, 0.5])


@pytest.mark.parametrize("draw", [one_cell, one_point_and_references, nothing_known])
def test_a_panel_with_fewer_than_two_marks_becomes_a_line_and_keeps_its_title(draw):
    figure, ((left, right),) = style.canvas(columns=2)
    draw(left)
    left.set_title("of one size", loc="left")
    line(right)
    drop_sparse_panels(figure)
    assert [text.get_text().replace("\n", " ") for text in left.texts] == [LINE]
    assert left.get_title(loc="left") == "of one size"
    assert not left.axison
    assert right.axison


@pytest.mark.parametrize("draw", [line, cloud, bars])
def test_two_marks_are_drawn(draw):
    figure, ((axis,),) = style.canvas()
    draw(axis)
    assert count_marks(axis) >= FEWEST
    drop_sparse_panels(figure)
    assert axis.axison


def test_a_figure_without_a_panel_to_see_is_one_line():
    figure, axes = style.canvas(columns=2)
    for axis in axes.flat:
        one_cell(axis)
    drop_sparse_panels(figure)
    assert figure.axes == []
    assert [text.get_text() for text in figure.texts] == [LINE]
    assert figure.get_figheight() < 1


def test_the_projects_figures_have_no_panel_with_fewer_than_two_marks():
    """Whoever adds one gives it runs to compare, or takes it out: the machine has put the line in its place."""
    files = sorted((paths.project() / "results/figures").glob("*/*.svg"))
    assert len(files) > 90
    assert [file.stem for file in files if "fewer than two" in file.read_text()] == []


@pytest.mark.usefixtures("in_project")
def test_a_figure_that_compares_is_drawn_from_a_scale_with_two_values_of_each_label():
    wear = exhibits.figure("language", "wear")
    assert wear.compares
    sources = evidence.sources("language", wear)
    assert sources
    for found in sources.values():
        rows = found.table("neuron_classes")
        assert all(rows[name].nunique() > 1 for name in wear.compares)
