"""Files that are there whole or not at all, whatever happens: a kill, a full disk, a power cut.

A file is written beside its place under a hidden name with the host and the process, brought to the disk, and renamed.
The next writer in the same folder removes what dead processes left.
"""

import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import psutil

from allmlp.common.errors import UserError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file. UserError if it cannot be written; then the old one is still there."""
    data = content.encode() if isinstance(content, str) else content
    _replace(path, lambda beside: beside.write_bytes(data))


def copy_atomically(source: Path, path: Path) -> None:
    """Copy a file, as `write_atomically` writes one."""
    _replace(path, lambda beside: shutil.copyfile(source, beside))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    beside = None
    try:
        beside = temporary_path(path)
        write(beside)
        sync(beside)
        beside.replace(path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}). Nothing was changed; make room, or let it be written, "
            "and run again."
        ) from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Where this process may write before it renames to `path`, in the same folder, which is made.

    What dead processes of this host left in that folder is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear(path.parent)
    mine = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
    _remove(mine)
    return mine


def clear(folder: Path) -> None:
    """Remove what dead processes of this host left, whatever file it was for: a name that is a digest never returns."""
    left = re.compile(rf"\..+\.{re.escape(socket.gethostname())}\.(\d+)")
    for name in os.listdir(folder):
        if (found := left.fullmatch(name)) and not is_alive(int(found[1])):
            _remove(folder / name)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_alive(pid: int) -> bool:
    """Does a process of that number run on this host? A zombie counts as dead: it waits for its parent."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # of another user
