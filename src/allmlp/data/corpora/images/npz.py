"""Images from .npz archives at URLs, such as CIFAR-5m's: fetched once, kept, and streamed from the archive.

CIFAR-5m (Nakkiran, Neyshabur & Sedghi 2021) is six archives of 1,000,448 images each, `X` and `Y`.
"""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.lib import format as npy
from pydantic import Field

from allmlp.common.errors import UserError, format_value
from allmlp.common.schema import StrictModel
from allmlp.data.corpora.addresses import Address
from allmlp.data.corpora.images import Form
from allmlp.data.corpora.images.fetching import fetch
from allmlp.data.images.writer import Images

RECIPE = 1
ROWS = 1 << 14  # images held at once
MOST_LABELS = 1 << 26  # of one archive


class Part(StrictModel):
    """One archive. Without a sha256 any file is taken, and corpora.lock records it."""

    url: Address
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")


class NpzCorpus(Form):
    """Archives in order; `images` and `labels` name the arrays in them; the hash chooses the split."""

    source: Literal["npz"] = "npz"
    parts: list[Part] = Field(min_length=1)
    images: str = Field("X", min_length=1)
    labels: str = Field("Y", min_length=1)
    limit: int | None = Field(None, ge=1, description="use only the first so many images")

    def pieces(self, root: Path) -> Iterator[Images]:
        """The images of all parts; each part is fetched when its turn comes.

        UserError without a network, for a damaged archive, and images of another size.
        """
        given = 0
        for piece in (piece for part in self.parts for piece in self._read(fetch(part.url, part.sha256, root))):
            left = None if self.limit is None else self.limit - given
            yield Images(piece.split, piece.pixels[:left], piece.labels[:left])
            given += len(piece.labels)
            if self.limit is not None and given >= self.limit:
                return

    def _read(self, path: Path) -> Iterator[Images]:
        return read_archive(path, self, {"images": self.images, "labels": self.labels})


def read_archive(path: Path, form: Form, arrays: dict[str, str], split: str | None = None) -> Iterator[Images]:
    """The images of an archive, a few thousand at a time. arrays: the keys that name that of the images and that of the
    labels, with the names. UserError for a damaged archive, and images of another size.
    """
    images, labelled = arrays.values()
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            for key, wanted in arrays.items():
                if wanted not in names:
                    raise UserError(
                        f"{path}: no array {format_value(wanted)}; it has {', '.join(map(repr, names))}. "
                        f"Correct `{key}:`."
                    )
            with archive.open(f"{labelled}.npy") as file:
                labels = _labels(file, path)
            with archive.open(f"{images}.npy") as file:
                for start, pixels in _rows(file, labels, path, form, images):
                    yield Images(split, pixels, labels[start : start + len(pixels)])
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: not a whole .npz archive ({error}). Delete it and run again.") from error


def _rows(file: IO[bytes], labels: np.ndarray, path: Path, form: Form, name: str) -> Iterator[tuple[int, np.ndarray]]:
    """The place of the first image, and the images (n, height, width, channels) uint8; one channel may have no axis."""
    shape, dtype = _header(file)
    sizes = [form.size, form.size[:2]] if form.size[2:] == [1] else [form.size]
    if dtype != np.uint8:
        way = "Write values from 0 to 255 `.astype('uint8')`; those from 0 to 1 first times 255."
        raise UserError(f"{path}: {name!r} holds {dtype}, not uint8. {way}")
    if list(shape[1:]) not in sizes:
        found, said = (" x ".join(map(str, sides)) for sides in (shape, form.size))
        raise UserError(f"{path}: {name!r} is {found}, not images of {said}. Correct `size:`, or the array.")
    if shape[0] != len(labels):
        raise UserError(f"{path}: {shape[0]:,} images in {name!r} and {len(labels):,} labels. Write one for each.")
    bytes_each = int(np.prod(shape[1:]))
    for start in range(0, shape[0], ROWS):
        count = min(ROWS, shape[0] - start)
        data = file.read(count * bytes_each)
        if len(data) < count * bytes_each:
            raise EOFError(f"{name!r} ends after {start + len(data) // bytes_each:,} images")
        yield start, np.frombuffer(data, np.uint8).reshape(count, *form.size)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array that follows. ValueError for other content."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, fortran, dtype = read(file)
    except Exception as error:  # numpy reads headers as Python's literals, which fail in many ways
        raise ValueError(f"a header that numpy cannot read: {type(error).__name__}") from error
    if fortran or min(shape, default=0) < 0:
        raise ValueError("an array in Fortran order, or of negative size")
    return shape, dtype


def _labels(file: IO[bytes], path: Path) -> np.ndarray:
    """The labels, as int64 (n,). Read in pieces: the header may promise more than there is."""
    shape, dtype = _header(file)
    if len(shape) != 1 or not np.issubdtype(dtype, np.integer):
        raise UserError(f"{path}: labels are {dtype} of shape {shape}, not one whole number per image.")
    data = file.read(MOST_LABELS * dtype.itemsize)
    if len(data) != shape[0] * dtype.itemsize:
        raise EOFError(f"{len(data) // dtype.itemsize:,} labels, the header says {shape[0]:,}")
    return np.frombuffer(data, dtype).astype(np.int64)
