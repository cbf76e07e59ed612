"""The 1,797 handwritten digits of 8 x 8 pixels in scikit-learn (UCI optdigits, test part; CC BY 4.0)."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from allmlp.common.errors import UserError
from allmlp.common.schema import StrictModel
from allmlp.data.images.writer import Images

RECIPE = 1
SHA256 = "a19cb3d96bba7deace8ee5a513a6eb7bad0403d528f00bf4d351b6a7a55baa91"  # of pixels, then labels


class DigitsCorpus(StrictModel):
    """Grey values of 0 to 16, stretched to 0 to 255; the hash holds out one image in `held_out`."""

    source: Literal["digits"] = "digits"
    held_out: int = Field(5, ge=2)
    size: ClassVar[list[int]] = [8, 8, 1]
    classes: ClassVar[int] = 10

    def pieces(self, root: Path) -> Iterator[Images]:
        """All at once. `root` is not used. Raises UserError if scikit-learn has other digits."""
        from sklearn.datasets import load_digits

        found = load_digits()
        pixels = np.round(found.images * (255 / 16)).astype(np.uint8)[..., None]
        labels = found.target.astype(np.int64)
        digest = hashlib.sha256(pixels.tobytes() + labels.astype(np.uint8).tobytes()).hexdigest()
        if digest != SHA256:
            raise UserError(
                f"scikit-learn's digits have sha256 {digest[:12]}..., expected {SHA256[:12]}...: "
                "install the version in requirements.lock."
            )
        yield Images(None, pixels, labels)
