"""A folder of images, memory-mapped and verified; images as the patches that a classifier reads."""

from pathlib import Path

import numpy as np

from allmlp.common.errors import UserError
from allmlp.data.tokens.folders import Folder


class ImageFile(Folder):
    """One folder of images: `train` and `test`, each (pixels (N, H, W, C) uint8, labels (N,) uint8), memory-mapped."""

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder)
        self.train, self.test = self._split("train"), self._split("test")

    def _read_meta(self) -> None:
        self.size, self.classes = tuple(self.meta["size"]), int(self.meta["classes"])
        self.mean, self.deviation = (np.array(self.meta[key], np.float32) for key in ("mean", "deviation"))

    def _split(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        pixels, labels = (np.load(self.folder / f"{name}-{kind}.npy", mmap_mode="r") for kind in ("images", "labels"))
        return pixels, labels

    def patches(self, pixels_BHWC: np.ndarray, patch: int) -> np.ndarray:
        """Standardised pixels as patches, row by row: (B, H/patch * W/patch, patch * patch * C) float32."""
        B, H, W, C = pixels_BHWC.shape
        x = (pixels_BHWC.astype(np.float32) / 255 - self.mean) / self.deviation
        x = x.reshape(B, H // patch, patch, W // patch, patch, C).transpose(0, 1, 3, 2, 4, 5)
        return np.ascontiguousarray(x).reshape(B, -1, patch * patch * C)


def patch_layout(size: tuple[int, ...] | list[int], patch: int) -> tuple[int, int]:
    """(patches of an image, numbers of a patch). UserError where patches do not fill the image."""
    height, width, channels = size
    if height % patch or width % patch:
        raise UserError(
            f"images of {height} x {width} cannot be cut into patches of {patch} x {patch}. "
            "Choose a `patch` that divides both, or a corpus of another size."
        )
    return (height // patch) * (width // patch), patch * patch * channels
