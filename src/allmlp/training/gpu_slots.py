"""Places on devices: ALLMLP_RUNS_PER_GPU=8 lets eight jobs share one. A place is a lock, a file each.

A new job gets a place on the emptiest device, so that none is shared while another is free. A job without the variable
wants a device of its own: it takes none on which another job shares.
"""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from filelock import FileLock

from allmlp.common.errors import UserError
from allmlp.common.locks import take, turn

SHARED = "ALLMLP_RUNS_PER_GPU"


def places() -> int:
    """How many jobs may share a device. Raises UserError for a value that is no integer of at least 1."""
    said = os.environ.get(SHARED, "1")
    if not said.isdecimal() or int(said) < 1:
        raise UserError(f"{SHARED}='{said}': give the number of runs that may share a GPU, 1 or more.")
    return int(said)


def lock_emptiest(devices: list[str], count: int, each: int, folder: Path) -> dict[str, FileLock]:
    """device -> the lock of a place on it, of the `count` devices with most free places, the first of equals.

    Empty if fewer have a free place, and then none stays locked.
    """
    with turn(folder / "choosing.lock"):  # one process at a time counts free places, as it takes them all to count them
        if each == 1:
            devices = [device for device in devices if not _is_shared(device, folder)]
        free = {device: [lock for path in _files(device, each, folder) if (lock := take(path))] for device in devices}
        chosen = sorted(filter(free.get, devices), key=lambda device: -len(free[device]))[:count]
        found = {device: free[device].pop(0) for device in chosen} if len(chosen) == count else {}
        for lock in chain.from_iterable(free.values()):
            lock.release()
    return found


def _files(device: str, each: int, folder: Path) -> Iterator[Path]:
    """The files of its places. The first has the name that it has where a device is not shared."""
    name = device.replace("/", "_")
    yield folder / f"{name}.lock"
    yield from (folder / f"{name}.place-{number}.lock" for number in range(2, each + 1))


def _is_shared(device: str, folder: Path) -> bool:
    """Does a job hold a place beside the first?"""
    for path in folder.glob(f"{device.replace('/', '_')}.place-*.lock"):
        if (lock := take(path)) is None:
            return True
        lock.release()
    return False
