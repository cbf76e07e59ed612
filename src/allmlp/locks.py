"""One worker at a time, by a lock that the kernel holds: no kill, however rude, leaves it behind.

    with hold(Path("work/mlp-w512-3f2a9c1b/lock"), "run mlp-w512-3f2a9c1b"):
        ...  # a twin gets a UserError that names this process

The lock is `flock` on a small file, which also says who holds it, for the twin to read. The file is never
deleted: between a deletion and the next creation two processes could lock two files of the same name.
"""

import fcntl
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from allmlp.errors import UserError

PATIENCE_S = 1.0  # for a new holder to write its name


class FileLock:
    """An exclusive lock on one file, freed by `release`, or by the kernel when the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Lock without waiting; False while anyone else, in this process or another, holds the lock.

        Raises UserError where the file cannot be made or the file system has no locks.
        """
        try:
            descriptor = _locked(self.path)
        except OSError as error:
            raise UserError(f"{self.path}: {error.strerror}: locks need a writable, local disk.") from error
        if descriptor is None:
            return False
        self._descriptor = descriptor
        _held.add(self)
        return True

    def write(self, text: str) -> None:
        """Put `text` in place of what the locked file says: a courtesy, so a full disk is no error."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        """Unlock; nothing to do for a child that was forked while its parent held the lock."""
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.disown()

    def disown(self) -> None:
        """Close the file only: the lock belongs to the open file, which a forked child would keep open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            _held.discard(self)


@contextmanager
def hold(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; `what` is worked on, as messages say it.

    The file holds JSON: pid, host, since (ISO 8601, UTC) and command. It is empty when nobody holds the lock,
    and stale after a kill until the next holder overwrites it. Raises UserError, which names the holder, when
    another process, or an outer block of this one, has the lock.
    """
    lock = FileLock(path)
    deadline = time.monotonic() + PATIENCE_S
    while not lock.take():
        told = _told(path)
        if told or time.monotonic() > deadline:
            name = "pid {pid} on {host} since {since}".format(**told) if told else "another process"
            raise UserError(f"{what} is already being worked on by {name}: wait for it, or stop it.")
        time.sleep(0.02)
    try:
        lock.write(json.dumps(_myself()))
        yield
    finally:
        lock.write("")
        lock.release()


def _locked(path: Path) -> int | None:
    """A descriptor of the file of that name, locked; None while it is locked by another."""
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(descriptor, path):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its folder was cleared away between opening and locking


def _opened(path: Path) -> int:
    tries = 1000
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except PermissionError:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # another user's, in a shared folder
        except (
            FileNotFoundError,
            FileExistsError,
        ):  # its folder is being cleared away right now, or is a file
            tries -= 1
            if not tries:
                raise


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _myself() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.orig_argv),
    }


def _told(path: Path) -> dict[str, Any] | None:
    """What the file says of its holder; None until a new one has written, over nothing or a dead one."""
    try:
        told = json.loads(path.read_text())
        told = {"pid": int(told["pid"]), "host": told["host"], "since": told["since"]}
        return told if told["host"] != socket.gethostname() or _alive(told["pid"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, of another user
    return True


_held: set[FileLock] = set()


def _disown_all() -> None:
    for lock in list(_held):
        lock.disown()


os.register_at_fork(after_in_child=_disown_all)
