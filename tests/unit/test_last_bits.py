"""What the last mile writes does not hang on the last bits, which another type of CPU gives otherwise."""

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import Normalize

from allmlp.report import style


@pytest.mark.parametrize("scale", [1e-7, 1.0, 3e5])
def test_a_colour_is_the_same_whatever_the_last_bits_are(scale: float) -> None:
    levels = np.arange(-128, 129) / 128 * scale  # each on the border of two colours, zero among them
    noise = np.random.default_rng(0).uniform(-1e-15, 1e-15, (20, len(levels))) * scale
    shown = [style.shades(levels + wobble) for wobble in noise]
    assert all(np.array_equal(one, shown[0]) for one in shown)
    coloured = colormaps["RdBu_r"](Normalize(-scale, scale)(shown[0]))
    np.testing.assert_allclose(coloured, colormaps["RdBu_r"](Normalize(-scale, scale)(levels)), atol=0.02)


def test_shades_keep_what_is_missing_and_nothing_but_zeros() -> None:
    assert np.isnan(style.shades([np.nan, 1.0])[0])
    assert style.shades([[0.0, 0.0]]).tolist() == [[0.0, 0.0]]
