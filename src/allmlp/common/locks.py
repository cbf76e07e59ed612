"""One worker at a time, by a lock that the kernel frees when the process ends, however it ends.

    with hold(Path("work/runs/mlp-w512-3f2a9c1b/lock"), "run mlp-w512-3f2a9c1b"):
        ...  # a twin gets a UserError that names this process

The lock file names its holder. It is never deleted: otherwise two processes could lock two files of the same name.
"""

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

from filelock import FileLock, Timeout

from allmlp.common.atomic import is_alive
from allmlp.common.errors import UserError

PAUSE_S = 0.01  # while another process has its turn
PATIENCE_S = 1.0  # for a new holder to write its name
CLEARED = 1000  # how often the folder of a lock may be removed while the lock is taken


def take(path: Path) -> FileLock | None:
    """The lock of that file, or None if it is held, by this process or another. Does not wait.

    Raises UserError if the file cannot be made.
    """
    lock = FileLock(path, mode=0o666, fallback_to_soft=False)  # others may share the folder
    for _ in range(CLEARED):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            return None
        except FileNotFoundError:  # its folder is being removed
            continue
        except OSError as error:
            if isinstance(error, FileExistsError) and not path.parent.is_file():
                continue  # its folder was removed while mkdir looked at it
            raise UserError(f"{path}: {error.strerror}: locks need a writable, local disk.") from error
        return lock
    return None


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait for the lock file `path`, and hold it while the block runs: for an entry in a file that others write too."""
    while not (lock := take(path)):
        time.sleep(PAUSE_S)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` while the block runs. `what`: the work, as messages name it.

    The file holds JSON: pid, host, since (ISO 8601, UTC) and command. It is empty when the lock is free, and stale
    after a kill until the next holder overwrites it. Raises UserError, which names the holder, when another process, or
    an outer block of this one, has the lock.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not (lock := take(path)):
        found = holder(path)
        if found or time.monotonic() > deadline:
            name = "pid {pid} on {host} since {since}".format(**found) if found else "another process"
            raise UserError(f"{what} is already being worked on by {name}: wait for it, or stop it.")
        time.sleep(0.02)
    mine = os.getpid()
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        about = {"pid": mine, "host": socket.gethostname(), "since": since, "command": shlex.join(sys.orig_argv)}
        _write(path, json.dumps(about))
        yield
    finally:
        if os.getpid() == mine:  # not a forked child that leaves the block
            _write(path, "")
            lock.release()


def _write(path: Path, text: str) -> None:
    with suppress(OSError):  # a full disk or a removed folder: naming the holder is optional
        path.write_text(text, encoding="utf-8")


def holder(path: Path) -> dict[str, Any] | None:
    """The living holder: pid, host, since. None for a free lock, and until a new holder has written its name."""
    try:
        named = json.loads(path.read_text(encoding="utf-8"))
        named = {"pid": int(named["pid"]), "host": named["host"], "since": named["since"]}
        return named if named["host"] != socket.gethostname() or is_alive(named["pid"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
