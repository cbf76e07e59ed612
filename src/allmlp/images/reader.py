"""A folder of images, memory-mapped and verified; images as the patches that a classifier reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from allmlp.errors import UserError
from allmlp.tokens.folders import check_file


class ImageFile:
    """One folder of images: `train` and `test`, each (pixels (N, H, W, C) uint8, labels (N,) uint8), memory-mapped.

    Every file is compared with the sha256 in `meta.json`, once per process.

    Raises:
        UserError: when the folder is not there, or a file in it is missing, truncated or changed.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        path = self.folder / "meta.json"
        try:
            self.meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            self.size, self.classes = tuple(self.meta["size"]), int(self.meta["classes"])
            self.mean, self.deviation = (np.array(self.meta[key], np.float32) for key in ("mean", "deviation"))
            sizes, digests = self.meta["sizes"], self.meta["sha256"]
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}). {self._way_out()}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: damaged, or not a corpus of images ({error!r}). {self._way_out()}") from error
        for name in sorted(digests):
            check_file(self.folder / name, sizes[name], digests[name], self._way_out())
        self.train, self.test = self._split("train"), self._split("test")

    def _split(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        pixels, labels = (np.load(self.folder / f"{name}-{kind}.npy", mmap_mode="r") for kind in ("images", "labels"))
        return pixels, labels

    def _way_out(self) -> str:
        corpus = self.folder.name.rpartition("-")[0] or self.folder.name
        return f"Delete the folder {self.folder} and run `allmlp tokenize {corpus}`."

    def patches(self, pixels_BHWC: np.ndarray, patch: int) -> np.ndarray:
        """Standardised pixels as patches, row by row: (B, H/patch * W/patch, patch * patch * C) float32."""
        B, H, W, C = pixels_BHWC.shape
        x = (pixels_BHWC.astype(np.float32) / 255 - self.mean) / self.deviation
        x = x.reshape(B, H // patch, patch, W // patch, patch, C).transpose(0, 1, 3, 2, 4, 5)
        return np.ascontiguousarray(x).reshape(B, -1, patch * patch * C)


def patches_of(size: tuple[int, ...] | list[int], patch: int) -> tuple[int, int]:
    """(patches of an image, numbers of a patch). UserError where patches do not fill the image."""
    height, width, channels = size
    if height % patch or width % patch:
        raise UserError(
            f"images of {height} x {width} cannot be cut into patches of {patch} x {patch}. "
            "Choose a `patch` that divides both, or a corpus of another size."
        )
    return (height // patch) * (width // patch), patch * patch * channels
