"""Independent pieces of work side by side, a process for each core."""

import ctypes
import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import psutil

from allmlp.common import cores
from allmlp.common.errors import UserError

PR_SET_PDEATHSIG = 1  # of prctl(2)


class Work(NamedTuple):
    """`tasks` may run at once, in any order. `finish` then takes their results, in the order of the tasks."""

    tasks: Sequence[Callable[[], Any]]
    finish: Callable[[list[Any]], Any] = list


def run_all(works: Sequence[Work]) -> list[Any]:
    """Run all tasks; then return the result of each work's `finish`."""
    found = iter(_run_in_parallel([task for work in works for task in work.tasks]))
    return [work.finish([next(found) for _ in work.tasks]) for work in works]


def _run_in_parallel(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    workers = min(len(tasks), cores.count())
    if workers < 2:
        return [task() for task in tasks]
    try:
        with ProcessPoolExecutor(workers, initializer=_begin) as pool:
            try:
                with _interrupt_held_back():
                    futures = [pool.submit(task) for task in tasks]
                return [future.result() for future in futures]
            except KeyboardInterrupt:  # the pool would wait for what is under way
                for child in psutil.Process().children():
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
                raise
    except BrokenProcessPool:
        raise UserError(
            "a process of this command was killed, perhaps for lack of memory. Run the same command again, "
            "alone on this machine; what was finished before is there."
        ) from None


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while processes are forked: an exception would be lost in what Python calls then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """End with the process that waits for the result: a worker waits for more work for ever.

    And collect garbage rarely: a figure is many small objects that live as long as the figure.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; one of them speaks
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
