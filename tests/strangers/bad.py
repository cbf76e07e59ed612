"""A bad input of the catalogue, and how several kinds of them are damaged."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class Bad(NamedTuple):
    """A bad input. `content` makes the bytes of `file`, `read` reads the file; `said`: words of the refusal."""

    what: str
    reader: str
    file: str
    said: str
    content: Callable[[], bytes]
    read: Callable[[Path], object]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


def parquet(table: pa.Table, **options: Any) -> Callable[[], bytes]:
    def made() -> bytes:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        return buffer.getvalue()

    return made


def npy(array: np.ndarray, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def claiming(array: bytes, old: bytes, new: bytes) -> bytes:
    """An .npy file whose header says something else; the blanks at its end make room."""
    longer = old + b" " * (len(new) - len(old))
    assert longer in array
    return array.replace(longer, new)
