"""Processes that outlived the call that started them: Snakemake and its jobs after a kill of `make reproduce`."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PID = "snakemake.pid"


def _working(apart: Path) -> list[int]:
    """The processes of a Snakemake that was started there, by this call or an earlier one, with all its jobs.

    They share the process group that it led. A number that the system has given to others since is not theirs.
    """
    try:
        group = int((apart / PID).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            if int(fields[2]) == group and fields[0] != "Z" and (folder / "cwd").resolve() in (apart, apart.parents[1]):
                members.append(int(folder.name))
        except (OSError, IndexError):  # it has ended meanwhile, or is not ours to see
            continue
    return members


def stop(apart: Path) -> None:
    """End whatever still works there: Snakemake at once, each job after it has saved its state."""
    working = _working(apart)
    if not working:
        return
    print(f"ending {len(working)} processes of an unfinished call; trainings save their state", flush=True)
    deadline = time.monotonic() + 60
    for pid in working:
        _signal(pid, signal.SIGKILL if _is_snakemake(pid) else signal.SIGTERM)
    while remaining := _working(apart):
        if time.monotonic() > deadline:
            for pid in remaining:
                _signal(pid, signal.SIGKILL)
        time.sleep(0.2)


def _is_snakemake(pid: int) -> bool:
    with suppress(OSError):
        return b"snakemake" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
