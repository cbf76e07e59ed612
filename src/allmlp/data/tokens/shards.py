"""One split's series of Arrow files while it is written."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from allmlp.common.errors import UserError

ROWS = 1 << 20  # tokens that a split holds in memory before they are written
COUNTS = ("documents", "tokens", "bytes")
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class SplitWriter:
    """Gathers documents and writes `<split>-00000.arrow`, ... into `partial`, each of `shard_tokens` tokens.

    No file's end cuts a document, so a file may be longer by a batch of `ROWS` tokens and a document.
    `folder` is the final place, for messages. `state` is that of an earlier writer after `finish`, which this one goes
    on from. Raises UserError when the disk is full.
    """

    def __init__(
        self,
        partial: Path,
        folder: Path,
        split: str,
        end: np.ndarray,
        shard_tokens: int,
        state: dict[str, Any] | None = None,
    ) -> None:
        self.partial, self.folder, self.split = partial, folder, split
        self.end, self.shard_tokens = end, shard_tokens  # end: (1,), the id that ends a document
        self.documents, self.tokens, self.bytes = (state[key] if state else 0 for key in COUNTS)
        self.shards: list[str] = list(state["shards"]) if state else []
        self._ids: list[np.ndarray] = []
        self._hashes: list[int] = []
        self._gathered = self._in_shard = 0  # tokens
        self._file: Any = None
        self._writer: Any = None

    def add(self, ids: np.ndarray, document: int, size: int) -> bool:
        """One document: its ids without `eod`, its hash, its bytes of text. Returns whether it completed a file."""
        self._ids += (ids, self.end)
        self._hashes.append(document)
        self._gathered += len(ids) + 1
        self.documents += 1
        self.tokens += len(ids) + 1
        self.bytes += size
        if self._gathered >= min(ROWS, self.shard_tokens):
            with writing(self.partial, self.folder):
                self._write()
            return self._writer is None
        return False

    def state(self) -> dict[str, Any]:
        """Counts, and the names of the files."""
        return {**{key: getattr(self, key) for key in COUNTS}, "shards": list(self.shards)}

    def finish(self) -> None:
        """Write the gathered documents and close the last file."""
        with writing(self.partial, self.folder):
            if self._ids:
                self._write()
            self._close()

    def _write(self) -> None:
        import pyarrow as pa

        values = np.concatenate(self._ids).astype(self.end.dtype, copy=False)
        ends = np.cumsum([0, *map(len, self._ids)], dtype=np.int32)[::2]  # ids and their end count as one
        tokens = pa.ListArray.from_arrays(pa.array(ends), pa.array(values))
        batch = pa.record_batch({"tokens": tokens, "document": pa.array(self._hashes, pa.uint64())})
        if self._writer is None:
            self.shards.append(f"{self.split}-{len(self.shards):05d}.arrow")
            self._file = (self.partial / self.shards[-1]).open("wb")
            self._writer = pa.ipc.new_file(self._file, batch.schema)
        self._writer.write_batch(batch)
        self._in_shard += self._gathered
        self._ids, self._hashes, self._gathered = [], [], 0
        if self._in_shard >= self.shard_tokens:
            self._close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._file.close()
        self._writer = self._file = None
        self._in_shard = 0

    def abandon(self) -> None:
        """Close the open file in any state: its folder is about to be removed."""
        for resource in (self._writer, self._file):
            with contextlib.suppress(OSError, ValueError):  # the full disk again, or a file that it closed
                if resource is not None:
                    resource.close()
        self._writer = self._file = None


def hashes(path: Path) -> Iterator[np.ndarray]:
    """The hashes of the documents in a file, (n,) uint64 per piece, in their order."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number).column("document").to_numpy()


@contextlib.contextmanager
def writing(partial: Path, folder: Path) -> Iterator[None]:
    """A failed write inside becomes one error that names `folder`."""
    try:
        yield
    except OSError as error:
        written = sum(path.stat().st_size for path in partial.iterdir()) if partial.is_dir() else 0
        raise write_error(folder, written, error) from error


def write_error(folder: Path, written: int, error: OSError) -> UserError:
    """The error for a folder that could not be written; `written`: bytes written before, and removed."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.errno not in FULL:
        return UserError(f"{folder}: cannot be written ({reason}). Nothing half-written is left there.")
    free = shutil.disk_usage(next(parent for parent in folder.absolute().parents if parent.is_dir())).free
    return UserError(
        f"{folder}: cannot be written ({reason}). It needs more than {written:,} bytes, those written before "
        f"the fault; {free:,} bytes are free there now. Make room, or raise the limit on file sizes, and run "
        f"again: nothing half-written is left there."
    )
