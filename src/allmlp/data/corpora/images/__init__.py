"""Corpora of images with labels, for classification, and their sources.

    corpora:
      digits:     {source: digits}                       # scikit-learn's, needs no download
      cifar10:    {source: images, files: train.parquet, test_files: test.parquet, size: [32, 32, 3], classes: 10}
      cifar5m:    {source: npz, parts: [{url: https://..., sha256: ...}], size: [32, 32, 3], classes: 10}

Each gives `pieces(root)`: its images in order, a few thousand at a time. `size` (height, width, channels) and
`classes` are given in config/corpora.yaml, so that a plan needs no data; data of another form are refused.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from allmlp.common.errors import UserError
from allmlp.common.schema import StrictModel

Positive = Annotated[int, Field(gt=0)]


class Form(StrictModel):
    """Size and classes of the images; one in `held_out` is a test image where the source has no test split."""

    size: list[Positive] = Field(min_length=3, max_length=3, description="height, width, channels")
    classes: int = Field(ge=2, le=256)
    held_out: int = Field(20, ge=2)

    def check_pixels(self, pixels: np.ndarray, where: str) -> np.ndarray:
        """The pixels (height, width, channels) as uint8. UserError if they have another size."""
        self.check_size(pixels.shape, where)
        return pixels.astype(np.uint8)

    def check_size(self, shape: tuple[int, ...], where: str) -> None:
        """UserError for an image of another size."""
        if list(shape) != self.size:
            found, said = (" x ".join(map(str, sides)) for sides in (shape, self.size))
            raise UserError(f"{where} is {found}, not {said}. Correct `size:`, or leave the image out.")
