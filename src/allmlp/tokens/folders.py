"""Folders of prepared data: written beside their place and named in one step, and checked when they are read."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from allmlp import paths
from allmlp.errors import UserError
from allmlp.tokens.shards import writing

_verified: set[tuple[str, int, int]] = set()  # path, size, time of the files found sound in this process


@contextmanager
def partial_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder beside `folder` to write in; it is gone afterwards, after a failure too.

    What a killed process left here earlier is removed; what one that still runs is writing is not.
    """
    host = socket.gethostname()
    for left in folder.parent.glob(f".{folder.name}.{host}.*"):
        if left.suffix[1:].isdigit() and not _runs(int(left.suffix[1:])):
            shutil.rmtree(left, ignore_errors=True)
    partial = folder.parent / f".{folder.name}.{host}.{os.getpid()}"
    try:
        with writing(partial, folder):
            partial.mkdir(parents=True)
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()


def publish(partial: Path, folder: Path) -> None:
    """Give `partial` its name in one step, unless the same is there already (from a twin, or from before)."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        there = folder / "meta.json"
        mine = (partial / "meta.json").read_bytes()
        if not there.is_file() or there.read_bytes() != mine:
            raise UserError(f"{folder}: is there already, with other tokens. Delete it and run again.") from None


def check_file(path: Path, size: int, expected: str, way_out: str, *, verify: bool = True) -> None:
    """Is a file what was written, by its size and, with `verify`, its sha256? Once per process.

    Raises:
        UserError: with the `way_out`, when it is missing, truncated or changed.
    """
    if not path.is_file():
        raise UserError(f"{path}: is missing. {way_out}")
    status = path.stat()
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
    if status.st_size == size and (key in _verified or not verify):
        return
    found = paths.file_sha256(path)
    if status.st_size != size or found != expected:
        raise UserError(
            f"{path}: not what was written: {status.st_size:,} bytes with sha256 {found}, "
            f"but meta.json has {size:,} bytes with sha256 {expected}. {way_out}"
        )
    _verified.add(key)
