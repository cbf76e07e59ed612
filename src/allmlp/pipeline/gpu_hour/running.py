"""Stages one after the other within some minutes, each a process of its own with a log.

A stage whose file is whole is not done again; one whose minutes no longer fit is not begun; one that takes too long is
stopped, and what it wrote is kept; one that fails is named, and the next one begins.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allmlp.common import paths, processes
from allmlp.pipeline.gpu_hour.stages import SPEEDS, Stage, has_wrong_kernels, is_whole, said

APART = Path("work/gpu-hour")  # the pid of the stage under way
OVERRUN = 1.5  # times its minutes, after which a stage is stopped
GRACE_S = 30.0  # from SIGTERM to SIGKILL
DONE, BEFORE, STOPPED, FAILED, NO_TIME = "done", "done before", "stopped: too long", "failed", "no time for it"


class Outcome(NamedTuple):
    """Of one stage in this call: its state, minutes, and what its file gives, or why it failed."""

    stage: str
    state: str
    minutes: float
    said: str


def run(stages: Sequence[Stage], out: Path, minutes: float, options: Sequence[str] = ()) -> Iterator[Outcome]:
    """Do the stages. `options`: behind the command of the one that takes the rest of the minutes."""
    until = time.monotonic() + 60 * minutes
    APART.mkdir(parents=True, exist_ok=True)
    processes.stop(APART.resolve())  # of a call that was killed
    for stage in stages:
        left = (until - time.monotonic()) / 60
        if is_whole(stage, out):
            yield Outcome(stage.name, BEFORE, 0.0, said(stage, out))
        elif stage.minutes > left:
            yield Outcome(stage.name, NO_TIME, 0.0, f"takes {stage.minutes:g} minutes, {max(0.0, left):.1f} are left")
        else:
            yield _do(stage, out, left, options)


def _do(stage: Stage, out: Path, left: float, options: Sequence[str]) -> Outcome:
    limit = left if stage.takes_rest else min(left, OVERRUN * stage.minutes)
    words = [sys.executable, *stage.words]
    if stage.takes_rest:
        words += ["--minutes", f"{left:.3f}", *options]
    if stage.file == SPEEDS and has_wrong_kernels(out):
        words.append("--plain-kernels")
    log, before = out / "log.txt", time.monotonic()
    with log.open("ab") as stream:
        stream.write(f"\n== {stage.name}\n".encode())
        stream.flush()
        start = stream.tell()
        process = subprocess.Popen(words, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        paths.write_atomically(APART / processes.PID, str(process.pid))
        status = _wait(process, 60 * limit)
    finally:
        _end(process)
    taken = (time.monotonic() - before) / 60
    if status is None:
        return Outcome(stage.name, STOPPED, taken, said(stage, out))
    if is_whole(stage, out):
        return Outcome(stage.name, DONE, taken, said(stage, out))
    if stage.takes_rest and status == 0:
        return Outcome(stage.name, "goes on at the next call", taken, said(stage, out))
    return Outcome(stage.name, FAILED, taken, _last_line(log, start) or f"status {status}")


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    """Its status, or None if it takes longer."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it, and what it started in its group; it may save its state first."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        _wait(process, GRACE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(log: Path, start: int) -> str:
    with log.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
