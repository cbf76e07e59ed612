"""Small corpora of images, for tests of what is made of them."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec, image_source
from allmlp.data.images import ImageFile, write_images

SIZE = [4, 6, 3]


def pictures(count: int, seed: int = 0, size: list[int] = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """Random images (count, *size) uint8, and their classes (count,)."""
    rng = np.random.Generator(np.random.Philox(key=[seed, 1]))
    return rng.integers(0, 256, (count, *size)).astype(np.uint8), rng.integers(0, 10, count)


def png(pixels: np.ndarray) -> bytes:
    """An image (height, width, channels) as a file."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def spec(**keys: object) -> CorpusSpec:
    """What a corpus of them says, with other keys."""
    return CorpusSpec.model_validate({"size": SIZE, "classes": 10, "held_out": 4, **keys})


def prepared(root: Path, **keys: object) -> ImageFile:
    """The corpus as a training reads it."""
    found = spec(**keys)
    source = image_source("mine", found)
    folder = root / "results/tokens/mine-00000000"
    write_images(source.pieces(root), source, folder, describe=identity.describe_corpus(found))
    return ImageFile(folder)


def refused(root: Path, **keys: object) -> str:
    """What is said of one that is refused; nothing is left of it."""
    with pytest.raises(UserError) as caught:
        prepared(root, **keys)
    assert not list((root / "results/tokens").glob("*")), "something half-written was left"
    return str(caught.value)


def parquet(path: Path, images: list, labels: list, **more: list) -> Path:
    """Write images and labels as columns."""
    pq.write_table(pa.table({"image": images, "label": labels, **more}), path)
    return path
