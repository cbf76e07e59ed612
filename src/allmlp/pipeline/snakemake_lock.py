"""A killed Snakemake leaves its lock behind, and marks of incomplete files: the next call on the same host lifts them.

Snakemake's lock does not name its owner. So every Snakemake here also holds a shared lock of the kernel, which ends
with its process: a call that gets this lock exclusively knows that no other Snakemake is alive.
"""

import fcntl
import json
import os
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

NOTE, LOCKS = Path(".snakemake/allmlp.lock"), Path(".snakemake/locks")
MARKS = Path(".snakemake/incomplete")
_held: list[int] = []  # open until this process ends


def lift() -> None:
    """Lift the lock of a dead Snakemake of this host and folder, and hold this process's lock until it ends.

    Locks of other hosts, or on a file system without locks, stay: `snakemake --unlock` lifts it.
    """
    with suppress(OSError):
        NOTE.parent.mkdir(exist_ok=True)
        descriptor = os.open(NOTE, os.O_RDWR | os.O_CREAT)
        _held.append(descriptor)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _lift_stale(os.pread(descriptor, 1000, 0).decode())
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now}).encode(), 0)


def _lift_stale(note: str) -> None:
    left = sorted(LOCKS.glob("*.lock"))
    try:
        said = json.loads(note)
        whose = f"pid {said['pid']} on {said['host']}, since {said['since']}"
    except (ValueError, TypeError, KeyError):
        return
    if said["host"] != socket.gethostname():
        return
    for path in [*left, *MARKS.glob("*")]:  # every file here is whole or not there, whatever a mark says
        path.unlink(missing_ok=True)
    if left:
        print(f"lifted the lock of a dead Snakemake ({whose}); going on where it was", file=sys.stderr)
