"""Heat maps of a few test images, patch by patch, with their pixels (002-9; see studies/copying/heat.py)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.copying.heat import drawn_images, heat

RECIPE = 1
IMAGES = 6  # of the test split, always the same

COLUMNS = {
    "layer": exact("block whose relation is shown, from 1"),
    "image": exact("number of the image in the draw from the test split"),
    "label": exact("its class"),
    "patch_row": exact("row of the patch, from the top"),
    "patch_column": exact("column of the patch, from the left"),
    "channels": exact("numbers of a pixel"),
    "pixels": exact("the patch's pixels, row by row, two hexadecimal digits for each channel's value"),
    "heat_1": numeric("norm of exp(a_CLS + b_i) over the image's sum of it", rtol=0.2, atol=0.02),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per image and patch."""
    task = trained.task()
    patches, pixels, labels, rows = drawn_images(task, IMAGES)  # type: ignore[arg-type]
    heat_NRC, layer = heat(trained.model(), patches, rows)
    patch, (N, R, C) = task.patch, heat_NRC.shape  # type: ignore[attr-defined]
    image, row, column = (index.ravel() for index in np.indices((N, R, C)))
    hexadecimal = [
        pixels[n, patch * r : patch * (r + 1), patch * c : patch * (c + 1)].tobytes().hex()
        for n, r, c in zip(image, row, column, strict=True)
    ]
    of_image = layer, image, labels[image].astype(int)
    columns = *of_image, row, column, pixels.shape[-1], hexadecimal, heat_NRC.ravel()
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
