"""Images in, a folder of arrays out: streaming, complete or not at all."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib import format as npy

from allmlp.common.errors import UserError
from allmlp.data.tokens.folders import partial_folder, publish, seal
from allmlp.data.tokens.shards import writing

SPLITS = ("train", "test")
HEADER = 128  # bytes that are kept free before the pixels: an .npy header of any number of images fits


class Images(NamedTuple):
    """Some images of one split, in the source's order: pixels (n, height, width, channels) uint8, labels (n,)."""

    split: str | None  # "train", "test", or None: the hash decides
    pixels: np.ndarray
    labels: np.ndarray


class Source(Protocol):
    """The form of a source's images; one in `held_out` is a test image."""

    @property
    def size(self) -> list[int]: ...
    @property
    def classes(self) -> int: ...
    @property
    def held_out(self) -> int: ...


class _Split:
    """The two files of a split. The headers hold the number of images, so they are written last."""

    def __init__(self, folder: Path, name: str, size: list[int]) -> None:
        self.count, self._shapes = 0, {"images": tuple(size), "labels": ()}
        self._files = {kind: (folder / f"{name}-{kind}.npy").open("wb") for kind in self._shapes}
        for file in self._files.values():
            file.write(b"\0" * HEADER)

    def add(self, pixels: np.ndarray, labels: np.ndarray) -> None:
        self.count += len(labels)
        for kind, array in (("images", pixels), ("labels", labels)):
            self._files[kind].write(np.ascontiguousarray(array, dtype=np.uint8).tobytes())

    def finish(self) -> None:
        for kind, file in self._files.items():
            said = {"descr": "|u1", "fortran_order": False, "shape": (self.count, *self._shapes[kind])}
            text = repr(said).encode()
            file.seek(0)
            file.write(npy.magic(1, 0) + (HEADER - 10).to_bytes(2, "little"))
            file.write(text + b" " * (HEADER - 11 - len(text)) + b"\n")

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def write_images(pieces: Iterable[Images], source: Source, folder: Path, *, describe: dict[str, Any]) -> dict[str, Any]:
    """Write `pieces` into `folder`; returns the content of its `meta.json`. Memory holds one piece and the test hashes.

    A source with a test split gives it first. The same images give the same bytes. An existing `folder` with the same
    content is left as it is. UserError for a label out of range, a split without images, a full or read-only disk, and
    a `folder` with other content. No failure leaves files behind.
    """
    with partial_folder(folder) as partial, writing(partial, folder):
        splits = {name: _Split(partial, name, source.size) for name in SPLITS}
        try:
            moments, left_out = _fill(splits, pieces, source)
            for split in splits.values():
                split.finish()
        finally:
            for split in splits.values():
                split.close()
        _check(splits)
        meta = {
            "images": sum(split.count for split in splits.values()),
            "splits": {name: split.count for name, split in splits.items()},
            "left_out": left_out,
            "size": source.size,
            "classes": source.classes,
            **moments,
            "source": describe,
        }
        meta = seal(partial, meta)
        publish(partial, folder)
    return meta


def _fill(splits: dict[str, _Split], pieces: Iterable[Images], source: Source) -> tuple[dict[str, list[float]], int]:
    """Mean and deviation of each channel over the training pixels (0 to 1), and how many images were left out."""
    known: set[bytes] = set()
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(source.size[-1]))
    left_out, number = 0, 0
    for split, pixels, labels in pieces:
        _check_labels(labels, source.classes, number)
        number += len(labels)
        hashes = [hashlib.sha256(image.tobytes()).digest()[:8] for image in pixels]
        drawn = (int.from_bytes(code, "big") % source.held_out == 0 for code in hashes)
        test = np.array([split == "test" or (split is None and held_out) for held_out in drawn], dtype=bool)
        if split == "test":
            known.update(hashes)
        train = ~test & np.array([split != "train" or code not in known for code in hashes], dtype=bool)
        left_out += int((~train & ~test).sum())
        splits["test"].add(pixels[test], labels[test])
        splits["train"].add(pixels[train], labels[train])
        values = pixels[train].reshape(-1, source.size[-1]).astype(np.int64)
        sums["first"] += values.sum(0)
        sums["second"] += (values * values).sum(0)
    count = max(1, splits["train"].count * source.size[0] * source.size[1])
    mean = sums["first"] / count
    deviation = np.sqrt(np.maximum(sums["second"] / count - mean**2, 0))
    return {"mean": (mean / 255).tolist(), "deviation": (np.maximum(deviation, 1) / 255).tolist()}, left_out


def _check_labels(labels: np.ndarray, classes: int, first: int) -> None:
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise UserError(
            f"image {first + wrong[0]:,}: its label is {labels[wrong[0]]}, not from 0 to {classes - 1}. "
            f"Correct `classes:` (now {classes}), or the data."
        )


def _check(splits: dict[str, _Split]) -> None:
    for name, split in splits.items():
        if not split.count:
            raise UserError(
                f"no {name} image among {sum(other.count for other in splits.values()):,}. A corpus of images "
                "needs both splits: give it more images, a test split of its own, or another `held_out:`."
            )
