"""What the last mile writes does not hang on the last bits, which another type of CPU gives otherwise."""

import ast

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import Normalize

from allmlp.report import style
from tests.conftest import PROJECT


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


def test_equal_values_keep_their_order_on_every_cpu() -> None:
    """numpy's default sort is another algorithm with AVX-512, which orders equal values in another way."""
    wrong = []
    for file in sorted((PROJECT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sort_values":
                by_several = bool(node.args) and isinstance(node.args[0], ast.List)  # pandas sorts these stably
                if not by_several and not any(one.arg == "kind" for one in node.keywords):
                    wrong.append(f"{file}:{node.lineno}")
    assert not wrong, 'add kind="stable"'
