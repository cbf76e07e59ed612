"""The user's files of images: Parquet, a row per image, encoded (PNG, JPEG, ...) or as its pixel values; or .npz."""

import hashlib
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from allmlp.common.errors import UserError
from allmlp.data.corpora.images import Form
from allmlp.data.corpora.images.npz import read_archive
from allmlp.data.corpora.local import matches, remembered_sha256
from allmlp.data.corpora.rows import parquet_batches
from allmlp.data.images.writer import Images

RECIPE = 1
KINDS = (".parquet", ".npz")
ROWS = 1000  # images decoded at once
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # others call programs, as EPS does, or are rare


class ImageFilesCorpus(Form):
    """Parquet files with a column of images and one of labels; without `test_files` the hash chooses the split.

    An image is the bytes of a PNG, JPEG, WEBP, GIF, BMP, TIFF or PPM file, a struct with such `bytes` (as the Hub
    stores them), or values from 0 to 255, height first and channels last, in nested lists or in one flat list. Of a
    .npz archive, `image` and `label` name the arrays: (n, height, width, channels) uint8, and (n,) whole numbers.
    """

    source: Literal["images"] = "images"
    files: list[str] | str = Field(description="paths or globs, relative to the project folder")
    test_files: list[str] | str | None = Field(None, description="the source's own test split")
    image: str = Field("image", min_length=1, description="the column, or array, that holds the image")
    label: str = Field("label", min_length=1, description="the column, or array, of the class, from 0")

    def pieces(self, root: Path) -> Iterator[Images]:
        """The test split first, if there is one.

        UserError for a file that cannot be read, a column that is missing, an image of another size.
        """
        if self.test_files is not None:
            for path in matches(self.test_files, root, KINDS):
                yield from self._read(path, "test")
        for path in matches(self.files, root, KINDS):
            yield from self._read(path, None if self.test_files is None else "train")

    def sha256(self, root: Path) -> str:
        """Digest of the stored bytes, a line per file with its part; where the files lie does not change it.

        The first image of a new file is read, so that a plan refuses files that no run could use.
        """
        parts = [("train", self.files)] + ([("test", self.test_files)] if self.test_files is not None else [])
        paths = [(path, part) for part, files in parts for path in matches(files, root, KINDS)]
        lines = [f"{remembered_sha256(path, root, self._try)}  {part}\n" for path, part in paths]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _try(self, path: Path) -> None:
        next(self._read(path, None, rows=1), None)

    def _read(self, path: Path, split: str | None, rows: int = ROWS) -> Iterator[Images]:
        if path.suffix == ".npz":
            yield from read_archive(path, self, {"image": self.image, "label": self.label}, split)
            return
        if path.suffix != ".parquet":
            raise UserError(
                f"{path}: images are read from {' and '.join(KINDS)} files alone. Put them into one: of Parquet, a row "
                f"per image, with the bytes of the {path.suffix or 'image'} file and its label, as in docs/corpora.md."
            )
        import pyarrow.types as types

        row = 0
        for batch in parquet_batches(path, {"image": self.image, "label": self.label}, rows):
            found = batch.schema.field(self.label).type
            if not types.is_integer(found):
                found = found.value_type if types.is_dictionary(found) else found
                raise UserError(f"{path}: column {self.label!r} holds {found}, not whole numbers. Correct `label:`.")
            pixels, labels, columns = [], [], (batch.column(self.image), batch.column(self.label))
            for number, (image, label) in enumerate(zip(*columns, strict=True), row):
                pixels.append(self._pixels(_value(image, where := f"{path}: row {number:,}"), where))
                labels.append(_value(label, where))
            yield Images(split, np.stack(pixels), np.array(labels, dtype=np.int64))
            row += len(labels)

    def _pixels(self, image: Any, where: str) -> np.ndarray:
        """(height, width, channels) uint8."""
        if isinstance(image, dict):
            image = image.get("bytes")
        try:
            found = self._decode(image, where) if isinstance(image, bytes) else np.asarray(image)
        except UserError:
            raise
        except Exception as error:  # Pillow's decoders have no common class of errors
            raise UserError(
                f"{where} holds no image that can be read ({type(error).__name__}); pixels, {', '.join(FORMATS)} can. "
                f"Mend, convert or remove it."
            ) from None
        if found.ndim == 1 and found.size == math.prod(self.size):
            found = found.reshape(self.size)
        if found.ndim == 2:
            found = found[..., None]
        if not np.issubdtype(found.dtype, np.integer) or (found.size and (found.min() < 0 or found.max() > 255)):
            raise UserError(f"{where} does not hold pixels as whole numbers from 0 to 255. Convert the images.")
        return self.check_pixels(found, where)

    def _decode(self, data: bytes, where: str) -> np.ndarray:
        from PIL import Image

        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            self.check_size((image.height, image.width, self.size[-1]), where)  # first: a bomb of a kB has billions
            return np.asarray(image.convert("L" if self.size[-1] == 1 else "RGB"))


def _value(cell: Any, where: str) -> Any:
    """What a cell holds, of Python's types. UserError for a damaged or empty one."""
    try:
        value = cell.as_py()
    except ValueError as error:  # of texts, or of times and numbers that Python has not
        raise UserError(f"{where} is damaged ({error}). Write the file again.") from error
    if value is None:
        raise UserError(f"{where} has no image or no label. Fill or remove it.")
    return value
