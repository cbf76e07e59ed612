"""A killed Snakemake leaves its lock behind, marks of incomplete files, and a folder in the temporary directory: the
next call on the same host lifts and removes them.

Snakemake's lock does not name its owner. So every Snakemake here also holds a shared lock of the kernel, which ends
with its process: a call that gets this lock exclusively knows that no other Snakemake is alive. It holds another such
lock in its folder in the temporary directory, for calls in other clones.
"""

import fcntl
import json
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NOTE, LOCKS = Path(".snakemake/allmlp.lock"), Path(".snakemake/locks")
MARKS = Path(".snakemake/incomplete")
HOLDER = "allmlp.lock"  # in a Snakemake's folder in the temporary directory
LONGEST = 1 << 16  # bytes of a note
_held: list[int] = []  # open until this process ends


def lift(temporary: str) -> None:
    """Lift the lock of a dead Snakemake of this host and folder, and hold this process's lock until it ends.

    `temporary`: this Snakemake's own folder in the temporary directory.

    Locks of other hosts, or on a file system without locks, stay: `snakemake --unlock` lifts it.
    """
    _remove_left()
    with suppress(OSError):
        _hold_folder(Path(temporary))
    with suppress(OSError):
        NOTE.parent.mkdir(exist_ok=True)
        descriptor = os.open(NOTE, os.O_RDWR | os.O_CREAT)
        _held.append(descriptor)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _lift_stale(_read(descriptor))
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        said = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(said).encode(), 0)


def _remove_left() -> None:
    """Remove the folders of dead Snakemakes, whatever they worked in. Those without a lock of this project stay."""
    for holder in Path(tempfile.gettempdir()).glob(f"snakemake*/{HOLDER}"):
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            descriptor = os.open(holder, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(holder.parent, ignore_errors=True)
            finally:
                os.close(descriptor)


def _hold_folder(folder: Path) -> None:
    """Lock this process's folder until it ends. The file is there once it is locked: nobody finds it without."""
    beside = folder / f".{HOLDER}"
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT)
    _held.append(descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    beside.rename(folder / HOLDER)


def _read(descriptor: int) -> dict[str, Any]:
    """What the note says; empty without one, or for one that is not whole."""
    try:
        said = json.loads(os.pread(descriptor, LONGEST, 0))
    except ValueError:
        return {}
    return said if isinstance(said, dict) and {"pid", "host", "since"} <= said.keys() else {}


def _lift_stale(said: dict[str, Any]) -> None:
    if said.get("host") != socket.gethostname():
        return
    left = sorted(LOCKS.glob("*.lock"))
    whose = f"pid {said['pid']} on {said['host']}, since {said['since']}"
    for path in [*left, *MARKS.glob("*")]:  # every file here is whole or not there, whatever a mark says
        path.unlink(missing_ok=True)
    if left:
        print(f"lifted the lock of a dead Snakemake ({whose}); going on where it was", file=sys.stderr)
