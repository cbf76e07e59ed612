"""Image classification (002 App. C): patches of an image in, its class out; no augmentation."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from allmlp.data.images import ImageFile, patch_layout
from allmlp.data.tasks.task import Batch, Task, batches_per_epoch, generator

RECIPE = 1
TEST_BATCH = 512


class ImageClassification(Task):
    """Images of a prepared corpus, each visited once an epoch in an order drawn from (seed, epoch).

    Pixels are standardised by mean and deviation of each channel over the training split and cut into patches of
    `patch` x `patch`, row by row. Held out: `test_images` images of the test split, always the same draw.
    """

    def __init__(self, tokens: Path, patch: int, batch_size: int, test_images: int = 10_000) -> None:
        self.file, self.patch, self.batch_size, self.test_images = ImageFile(tokens), patch, batch_size, test_images
        self.vocabulary, (self.context, self.features) = self.file.classes, patch_layout(self.file.size, patch)
        self._images, self._labels = self.file.train
        self.batches_per_epoch = batches_per_epoch(len(self._labels), batch_size, tokens, "training images")
        self._order: tuple[tuple[int, int], np.ndarray] | None = None  # of the last requested epoch

    @staticmethod
    def size(batch_size: int, **_: Any) -> tuple[int, int]:
        """Images of one batch, each supervised once."""
        return batch_size, batch_size

    def batch(self, seed: int, step: int) -> Batch:
        """patches (B, context, features) float32, classes (B,)."""
        epoch, position = divmod(step, self.batches_per_epoch)
        if self._order is None or self._order[0] != (seed, epoch):
            self._order = ((seed, epoch), generator(seed, epoch).permutation(len(self._labels)))
        rows = self._order[1][position * self.batch_size : (position + 1) * self.batch_size]
        return self._batch(self._images, self._labels, np.sort(rows))

    def validation(self) -> list[Batch]:
        """Test images, in batches."""
        rows = self.drawn_rows(self.test_images)
        return [self._batch(*self.file.test, rows[i : i + TEST_BATCH]) for i in range(0, len(rows), TEST_BATCH)]

    def drawn_rows(self, most: int) -> np.ndarray:
        """At most so many images of the test split: a fixed draw, because a source may be sorted by class."""
        return generator(0, 0).permutation(len(self.file.test[1]))[:most]

    def _batch(self, images: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> Batch:
        patches = torch.from_numpy(self.file.patches(images[rows], self.patch))
        return Batch(patches, torch.from_numpy(labels[rows].astype(np.int64)))
