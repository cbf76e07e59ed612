"""Files that are there whole or not at all, whatever happens: a kill, a full disk, a power cut.

A file is written beside its place under a hidden name with the host and the process, brought to the disk, and renamed.
The next writer of the same file removes what dead processes left.
"""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from allmlp.errors import UserError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file. UserError if it cannot be written; then the old one is still there."""
    data = content.encode() if isinstance(content, str) else content
    _replace(path, lambda beside: beside.write_bytes(data))


def copy_whole(source: Path, path: Path) -> None:
    """Copy a file, as `write_whole` writes one."""
    _replace(path, lambda beside: shutil.copyfile(source, beside))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    beside = None
    try:
        beside = place_beside(path)
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


def place_beside(path: Path) -> Path:
    """Where this process may write before it renames to `path`, in the same folder, which is made.

    What dead processes of this host left there is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = f".{path.name}.{socket.gethostname()}."
    for name in os.listdir(path.parent):
        if name.startswith(begin) and (pid := name.removeprefix(begin)).isdigit():
            left = path.with_name(name)
            if int(pid) == os.getpid() or not alive(int(pid)):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
    return path.with_name(f"{begin}{os.getpid()}")


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    """Does a process of that number run on this host?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, of another user
    return True
