"""Study 004's figures, made of made-up measurements."""

import numpy as np
import pytest

from tests import exhibits
from tests.unit.known_triangular import tables


def test_reach_rises_to_all_of_the_gradient_and_ends_at_the_furthest_token_that_counts() -> None:
    shown = exhibits.make_exhibit(exhibits.figure("triangular", "reach"), tables())
    for axis in shown.axes:
        lines = [
            line for line in axis.get_lines() if line.get_label() in ("transpose (text)", "reshape (published code)")
        ]
        for line in lines:
            assert (np.diff(line.get_ydata()) >= 0).all()
            assert line.get_ydata()[-1] == pytest.approx(1)
    text, published = shown.axes[0].get_lines()[0], shown.axes[0].get_lines()[2]
    assert max(text.get_xdata()) == 430
    assert max(published.get_xdata()) == 18, "17 blocks move information by 17 tokens"


def test_milestones_have_one_scale_a_panel_and_no_axis_beyond_the_training() -> None:
    shown = exhibits.make_exhibit(exhibits.figure("triangular", "milestones"), tables())
    assert len({axis.get_position().bounds for axis in shown.axes}) == len(shown.axes) == 4
    assert all(axis.get_xlim()[1] < 3000 for axis in shown.axes), "the training ended at 2,000"
