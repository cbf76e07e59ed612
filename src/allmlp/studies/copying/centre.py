"""The middle of an image of patches, where 002 sees the heat (002-9)."""

import numpy as np


def central(rows: int, columns: int) -> np.ndarray:
    """The patches in the middle, (R, C) bool: the centred rectangle with an area nearest to half the image's.

    It leaves out as many rows as columns on every side: 12 x 12 of 16 x 16 patches, 2 x 2 of 4 x 4.
    """
    areas = {border: (rows - 2 * border) * (columns - 2 * border) for border in range((min(rows, columns) + 1) // 2)}
    border = min(areas, key=lambda border: abs(areas[border] / (rows * columns) - 0.5))
    inside = np.zeros((rows, columns), dtype=bool)
    inside[border : rows - border, border : columns - border] = True
    return inside
