"""What is done to a command or to its folder before it runs: in its own process, by the kernel where it can."""

import ctypes
import errno
import fcntl
import mmap
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.forks import Fault

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PAGE = 4096


def watch(act: Callable[[int], object]) -> None:
    """Call `act` with 1, 2, ... right before each change that this process makes to a file of this folder."""
    here, number = os.getcwd() + os.sep, 0

    def hook(event: str, words: tuple[object, ...]) -> None:
        nonlocal number
        if event in CHANGES or (event == "open" and isinstance(words[2], int) and words[2] & WRITING):
            name = os.fsdecode(words[0]) if isinstance(words[0], str | bytes | os.PathLike) else ""
            if name and (not os.path.isabs(name) or name.startswith(here)):
                number += 1
                act(number)

    sys.addaudithook(hook)


def at_change(number: int, act: Fault) -> Fault:
    """Let `act` come right before the change of that number."""
    return lambda: watch(lambda at: act() if at == number else None)


class Counter:
    """Harms nothing and counts the changes that a command makes."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)

    def prepare(self) -> None:
        """Count those of this process from now on."""
        watch(lambda at: self._shared.__setitem__(slice(0, 8), at.to_bytes(8, "little")))

    @property
    def number(self) -> int:
        """The count, in any fork."""
        return int.from_bytes(self._shared[:8], "little")


def die() -> None:
    """SIGKILL to this process."""
    os.kill(os.getpid(), signal.SIGKILL)


class PowerCut:
    """A cut of the power: names and sizes of files are on the disk in order, their data only if they were synced."""

    def __init__(self) -> None:
        self._synced: set[tuple[int, int, int]] = set()

    def prepare(self) -> None:
        """From now on, remember what is synced."""
        self._synced = {_mark(path.stat()) for path in Path.cwd().rglob("*") if path.is_file()}
        os.fsync = self._fsync

    def _fsync(self, descriptor: int) -> None:
        self._synced.add(_mark(os.fstat(descriptor)))

    def cut(self) -> None:
        """Lose all other data, and end."""
        for path in Path.cwd().rglob("*"):
            if path.is_file() and not path.is_symlink() and _mark(path.stat()) not in self._synced:
                os.truncate(path, 0)
        die()


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def small_files(most: int) -> Fault:
    """No file may grow beyond so many bytes: the kernel refuses the write."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    return limit


def without_locks(number: int) -> Fault:
    """A file system that has no locks and says so with this error."""

    def refuse() -> None:
        def flock(descriptor: int, operation: int) -> None:
            raise OSError(number, os.strerror(number))

        fcntl.flock = flock

    return refuse


def clock(seconds: float) -> Fault:
    """The clock is wrong by so much."""

    def turn() -> None:
        true, true_ns = time.time, time.time_ns
        time.time = lambda: true() + seconds
        time.time_ns = lambda: true_ns() + int(seconds * 1e9)

    return turn


def shuffle_times(folder: Path, draw: random.Random) -> None:
    """Every file was written at some other time, in the past or in the future."""
    for path in folder.rglob("*"):
        at = time.time() + draw.uniform(-3e8, 3e8)
        os.utime(path, (at, at))


def flip(path: Path, draw: random.Random) -> None:
    """One bit of a file is another one, as on a bad disk: its times stay."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


_libc = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, NEW_USER, BIND, REMOUNT, READ_ONLY, REC, PRIVATE = 0x20000, 0x10000000, 4096, 32, 1, 16384, 1 << 18


def own_mounts() -> bool:
    """Give this process mounts of its own. False where the system does not let it."""
    ids = os.getuid(), os.getgid()
    if _libc.unshare(NEW_MOUNTS) and _libc.unshare(NEW_MOUNTS | NEW_USER):
        return False
    if os.getuid() != ids[0]:
        Path("/proc/self/setgroups").write_text("deny")
        for name, number in zip(("uid_map", "gid_map"), ids, strict=True):
            Path(f"/proc/self/{name}").write_text(f"0 {number} 1")
    return not _libc.mount(b"none", b"/", None, REC | PRIVATE, None)


def mount(kind: str, folder: Path, options: str = "", flags: int = 0) -> None:
    """Mount a file system of that kind there, or the folder on itself. OSError if the system refuses."""
    if _libc.mount(
        (kind or str(folder)).encode(), str(folder).encode(), kind.encode() or None, flags, options.encode()
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written in a folder, even by root. For a process with its own mounts."""
    mount("", folder, flags=BIND)
    mount("", folder, flags=BIND | REMOUNT | READ_ONLY)
    try:
        yield
    finally:
        _libc.umount2(str(folder).encode(), 2)


@contextmanager
def full_but(folder: Path, free: int) -> Iterator[None]:
    """The disk of a folder has so many bytes left, in whole pages."""
    filler = folder.parent / "filler"
    with filler.open("wb") as stream:
        status = os.statvfs(folder)
        os.posix_fallocate(stream.fileno(), 0, max(PAGE, (status.f_bavail - free // PAGE) * status.f_frsize))
    try:
        yield
    finally:
        filler.unlink()


LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
