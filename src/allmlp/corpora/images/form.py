"""The keys of every corpus of images, and the check that its images agree with them."""

from typing import Annotated

import numpy as np
from pydantic import Field

from allmlp.errors import UserError
from allmlp.strict import Strict

Positive = Annotated[int, Field(gt=0)]


class Form(Strict):
    """Size and classes of the images; one in `held_out` is a test image where the source has no test split."""

    size: list[Positive] = Field(min_length=3, max_length=3, description="height, width, channels")
    classes: int = Field(ge=2, le=256)
    held_out: int = Field(20, ge=2)

    def checked(self, pixels: np.ndarray, where: str) -> np.ndarray:
        """The pixels (height, width, channels) as uint8. UserError if they have another size."""
        self.check_size(pixels.shape, where)
        return pixels.astype(np.uint8)

    def check_size(self, shape: tuple[int, ...], where: str) -> None:
        """UserError for an image of another size."""
        if list(shape) != self.size:
            found, said = (" x ".join(map(str, sides)) for sides in (shape, self.size))
            raise UserError(f"{where} is {found}, not {said}. Correct `size:`, or leave the image out.")
