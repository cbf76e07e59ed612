"""Angles of a hand-coded sum: boxes of given widths cover the circle, and each holds one angle.

    regular   the middle of each box; n equal boxes: offset + 2 pi j / n
    jittered  a uniformly random point of each box
    random    independent uniform angles, whatever the boxes are

>>> place(fill(4), "regular").round(6).tolist()
[0.0, 1.570796, 3.141593, 4.712389]
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allmlp.common.errors import parameter_error

Floats = NDArray[np.float64]

GRIDS = ("regular", "jittered", "random")


def fill(n: int, given: Sequence[float] | None = None) -> Floats:
    """n widths that sum to 2 pi: equal ones, or the `given` ones scaled. (n,), rad."""
    if given is None:
        return np.full(n, 2 * np.pi / n)
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (n,) or not np.isfinite(found).all() or not (found > 0).all():
        raise parameter_error(
            "widths", given, f"it must be {n} numbers above 0, one per angle, or nothing for equal ones"
        )
    return 2 * np.pi * found / found.sum()


def place(width_N: NDArray, grid: str, offset: float = 0.0, rng: np.random.Generator | None = None) -> Floats:
    """One angle per width, (n,) in rad. `offset` is the middle of the first box; `rng` draws all but a regular grid.

    Raises ValueError for an unknown grid, or without an rng for a grid that draws.
    """
    if grid not in GRIDS or (grid != "regular" and rng is None):
        raise ValueError(f"grid {grid!r}: choose one of {', '.join(GRIDS)}; all but regular need an rng")
    left_N = offset + np.concatenate([[0.0], np.cumsum(width_N)[:-1]]) - width_N[0] / 2
    if rng is None or grid == "regular":
        return left_N + width_N / 2
    drawn = rng.random(len(width_N))
    return left_N + drawn * width_N if grid == "jittered" else 2 * np.pi * drawn
