"""Commands of `allmlp` in forks of this process, which has imported everything: a fault costs no import of torch."""

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PATIENCE_S = 120.0  # a command that takes longer hangs
GRACE_S = 3.0  # for processes of a command that has ended


class Ended(NamedTuple):
    """How a command ended: its status, negative for a signal, and what it printed. `left`: its processes live on."""

    status: int
    said: str
    left: bool = False


class Fork(NamedTuple):
    """A command under way."""

    pid: int
    printed: int  # the end of a pipe


Fault = Callable[[], None]


def nothing() -> None:
    """No fault."""


def start(folder: Path, words: Sequence[str], fault: Fault = nothing, after: Fault = nothing, cores: int = 1) -> Fork:
    """Begin a command in a folder. `fault` comes right before it, `after` when it has ended well."""
    printed, mine = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(printed)
        _work(folder, words, fault, after, cores, mine)
    os.close(mine)
    return Fork(pid, printed)


def _work(folder: Path, words: Sequence[str], fault: Fault, after: Fault, cores: int, printed: int) -> None:
    status = 1
    try:
        os.setsid()
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
        os.chdir(folder)
        os.environ["ALLMLP_SAVE_SECONDS"] = "0"
        os.cpu_count = lambda: cores
        status = command(words, fault)
        if status == 0:
            after()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def command(words: Sequence[str], fault: Fault = nothing) -> int:
    """Run a command in this process and this folder. Returns its status."""
    from allmlp.cli import main

    sys.argv = ["allmlp", *words]
    try:
        fault()
        main.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def ended(fork: Fork, patience_s: float = PATIENCE_S) -> Ended:
    """Wait for a command. One that hangs, or leaves processes behind, is killed."""
    until, said, status = time.monotonic() + patience_s, b"", None
    while status is None and time.monotonic() < until:
        if select.select([fork.printed], [], [], 0.01)[0]:
            said += os.read(fork.printed, 1 << 16)
        if (found := os.waitpid(fork.pid, os.WNOHANG))[0]:
            status = os.waitstatus_to_exitcode(found[1])
    until = time.monotonic() + GRACE_S
    while (left := _lives(fork.pid)) and status is not None and time.monotonic() < until:
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(fork.pid, signal.SIGKILL)
    if status is None:
        os.waitpid(fork.pid, 0)
    while select.select([fork.printed], [], [], 0)[0] and (more := os.read(fork.printed, 1 << 16)):
        said += more
    os.close(fork.printed)
    return Ended(-signal.SIGXCPU if status is None else status, said.decode(errors="replace"), left)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and group of every process that is no zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, group = stat.read_text().rsplit(")", 1)[1].split()[:3]
            if state != "Z":
                yield int(stat.parent.name), int(parent), int(group)


def _lives(group: int) -> bool:
    return any(its == group for _, _, its in _processes())


def children(pid: int) -> list[int]:
    """The processes that a process has begun."""
    return [number for number, parent, _ in _processes() if parent == pid]


def carried_out(
    folder: Path,
    words: Sequence[str],
    fault: Fault = nothing,
    after: Fault = nothing,
    cores: int = 1,
    warm: bool = False,
) -> Ended:
    """A command from its beginning to its end. `warm`: in this very process, which then has imported what it uses."""
    if not warm:
        return ended(start(folder, words, fault, after, cores))
    here, given, count = Path.cwd(), sys.argv, os.cpu_count
    try:
        os.chdir(folder)
        os.cpu_count = lambda: 1
        return Ended(command(words), "")
    finally:
        os.cpu_count, sys.argv = count, given
        os.chdir(here)
