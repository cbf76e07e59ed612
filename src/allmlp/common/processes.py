"""Processes of `allmlp`: the status by which a job speaks, and what outlived the call that started it."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

PID = "snakemake.pid"
UNAVAILABLE = 69  # status, of sysexits.h: a library that a measure needs is not installed here
SHELLS = ("bash", "sh")
PR_SET_CHILD_SUBREAPER = 36  # of prctl(2)


def end_cleanly() -> None:
    """From now on SIGTERM and SIGINT raise an exception, so that every `except` and `finally` cleans up."""

    def leave(number: int, _: object) -> None:
        print("stopping; the same command goes on where it was", flush=True)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)


def end_at_interrupt(grace_s: float = 60.0) -> None:
    """From now on SIGINT ends this process's children, which may save their state first, and then this process.

    With a line: Snakemake 9.27 itself prints some hundred, of exceptions in its own clean-up.
    """

    def leave(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("\nstopping; the same command goes on where it was", file=sys.stderr, flush=True)
        silent = os.open(os.devnull, os.O_WRONLY)
        for output in (1, 2):
            os.dup2(silent, output)  # of jobs that end with a signal there is nothing to say
        asked: set[int] = set()
        until = time.monotonic() + grace_s
        while children := _living_children():
            late = time.monotonic() > until
            # shells first: they would say how their commands ended
            for child, name in sorted(children.items(), key=lambda one: one[1] not in SHELLS):
                if late or child.pid not in asked:
                    asked.add(child.pid)
                    _signal(child.pid, signal.SIGKILL if late or name in SHELLS else signal.SIGTERM)
            psutil.wait_procs(children, 0.2)
        os._exit(128 + signal.SIGINT)

    if sys.platform == "linux":  # what a shell leaves behind, ended by the same Ctrl-C, becomes a child of this process
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, leave)


def _running_processes(apart: Path) -> list[int]:
    """The processes of a Snakemake that this call or an earlier one started in that folder, with all its jobs.

    They share Snakemake's process group; jobs without a Snakemake have one each. Processes outside this project are not
    counted: the system may have reused a number.
    """
    try:
        groups = set(map(int, (apart / PID).read_text(encoding="utf-8").split()))
    except (OSError, ValueError):
        return []
    members = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):  # it has ended meanwhile, or belongs to another user
            if (
                os.getpgid(process.pid) in groups
                and process.status() != psutil.STATUS_ZOMBIE
                and Path(process.cwd()).is_relative_to(apart.parents[1])  # the project, or a folder in it
            ):
                members.append(process.pid)
    return members


def stop(apart: Path, grace_s: float = 0.0) -> None:
    """End all processes there: Snakemake at once, each job after it has saved its state.

    `grace_s`: how long jobs may take to end before they get a signal.
    """
    if not (working := _running_processes(apart)):
        return
    for pid in filter(_is_snakemake, working):
        _signal(pid, signal.SIGKILL)
    if not (remaining := _remaining_processes(apart, grace_s)):
        return
    print(f"ending {len(remaining)} processes of an unfinished call; trainings save their state", flush=True)
    for pid in remaining:
        _signal(pid, signal.SIGTERM)
    while remaining := _remaining_processes(apart, 60):
        for pid in remaining:
            _signal(pid, signal.SIGKILL)


def _remaining_processes(apart: Path, seconds: float) -> list[int]:
    """The processes that are left after this time, or none as soon as all have ended."""
    until = time.monotonic() + seconds
    while (working := _running_processes(apart)) and time.monotonic() < until:
        time.sleep(0.2)
    return working


def _living_children() -> dict[psutil.Process, str]:
    """All below this process, each with its name."""
    found = {}
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            if child.status() != psutil.STATUS_ZOMBIE:
                found[child] = child.name()
    return found


def _is_snakemake(pid: int) -> bool:
    with suppress(psutil.Error):
        return "snakemake" in psutil.Process(pid).cmdline()
    return False


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
