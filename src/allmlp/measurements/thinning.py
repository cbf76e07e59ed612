"""Which rows of a long log are kept."""

import numpy as np
from numpy.typing import NDArray


def kept_rows(rows: int, most: int) -> NDArray[np.int64]:
    """Which of `rows` log rows a curve of at most `most` keeps: all if they fit, else a fixed choice.

    Half of them are evenly spaced and half evenly in their logarithm, so that the first steps of a long run stay
    visible. The first and the last row are always kept. Sorted, without repetition. Raises ValueError if `most` is
    below 4.
    """
    if most < 4:
        raise ValueError(f"a curve of at most {most} rows shows nothing: choose 4 or more")
    if rows <= most:
        return np.arange(rows)
    even = np.linspace(0, rows - 1, most // 2)
    logarithmic = np.geomspace(1, rows, most // 2) - 1
    return np.unique(np.round(np.concatenate([even, logarithmic])).astype(np.int64))
