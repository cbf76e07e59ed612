"""Images on disk: `results/tokens/<corpus>-<digest>/`, written once, then memory-mapped.

    meta.json                              counts, size, mean and deviation of the training pixels, source, sha256
    train-images.npy, test-images.npy      uint8 (N, height, width, channels)
    train-labels.npy, test-labels.npy      uint8 (N,)

If the source has no test split, an image's hash chooses its split: the first 8 bytes, big-endian, of the
sha256 of its pixels; a multiple of `held_out` makes it a test image. So equal images share a split. Images of the
training split that are also in the source's test split are left out, and counted in meta.json.
"""

from allmlp.data.images.reader import ImageFile, patch_layout
from allmlp.data.images.writer import Images, write_images

RECIPE = 1

__all__ = ["ImageFile", "Images", "patch_layout", "write_images"]
