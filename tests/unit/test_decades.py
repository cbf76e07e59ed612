"""Logarithmic axes are labelled in letters of one size, at the ticks that Matplotlib labels."""

import io

import matplotlib.pyplot as plt
import pytest
from matplotlib.ticker import FixedFormatter

from allmlp.report.decades import write_plainly


def labels(axis) -> list[str]:  # type: ignore[no-untyped-def]
    """What is written along an axis."""
    ticks = [*axis.get_ticklabels(which="major"), *axis.get_ticklabels(which="minor")]
    return [tick.get_text() for tick in ticks if tick.get_text()]


@pytest.fixture
def axes():  # type: ignore[no-untyped-def]
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_decades_are_written_plainly_and_the_same_ticks_are_labelled(axes) -> None:  # type: ignore[no-untyped-def]
    axes.loglog([0.002, 1e6], [1e-9, 1e-3])
    axes.figure.canvas.draw()
    before = labels(axes.xaxis)
    write_plainly(axes.figure)
    axes.figure.canvas.draw()
    assert len(labels(axes.xaxis)) == len(before)
    assert {"0.01", "1", "100", "1e4", "1e6"} <= set(labels(axes.xaxis))
    assert "1e\N{MINUS SIGN}6" in labels(axes.yaxis)


def test_within_a_decade_the_ticks_between_are_labelled_too(axes) -> None:  # type: ignore[no-untyped-def]
    axes.semilogx([2e4, 6e4], [0, 1])
    write_plainly(axes.figure)
    axes.figure.canvas.draw()
    assert "4e4" in labels(axes.xaxis)


def test_an_axis_with_zero_and_one_with_words_of_its_own(axes) -> None:  # type: ignore[no-untyped-def]
    axes.plot([0, 1000], [1, 10])
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FixedFormatter(["few", "some", "many"]))
    write_plainly(axes.figure)
    axes.figure.savefig(io.BytesIO(), format="svg")
    assert {"0", "0.1", "1", "100"} <= set(labels(axes.xaxis))
    assert "some" in labels(axes.yaxis)
