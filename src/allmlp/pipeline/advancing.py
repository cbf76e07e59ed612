"""`allmlp advance`: works through a scale's open runs until a deadline, most claims per hour first.

Snakemake is the scheduler, called here with an order and a deadline. If it is not installed, the same commands run one
after the other (`sequential`). At the deadline trainings save their state and exit; the next call goes on.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from allmlp.common import deadline, paths, processes
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.measurements import store
from allmlp.pipeline import sequential
from allmlp.plan import priorities, status
from allmlp.plan.portable import ResolvedPlan, RunPlan
from allmlp.training.gpu_slots import places
from allmlp.training.gpus import machine

APART = Path("work/advance")  # the scheduler's pid and log
GRACE_S = 60.0  # after the deadline, to save states and finish a measure
AFTER_S = 1.0  # between the end of Snakemake and that of its jobs
FAILED = re.compile(r"^Error in rule \w+:\n(?:    .*\n)*?    jobid: (\d+)\n(?:    .*\n)*?    log: (\S+)", re.MULTILINE)
FINISHED = re.compile(r"^Finished jobid: (\d+) ", re.MULTILINE)


def advance(plan: RunPlan, minutes: float, cores: int, words: Sequence[str] = ()) -> int:
    """Work until the deadline. Returns 0, or 1 if a job failed for another reason than the deadline.

    `words`: Snakemake's options for the same plan. Nothing is committed.
    """
    until = time.time() + 60 * minutes
    processes.end_cleanly()
    with hold(Path("work/advance.lock"), "allmlp advance"):
        apart = APART.resolve()
        apart.mkdir(parents=True, exist_ok=True)
        processes.stop(apart)  # of a call that was killed
        resolved = status.resolve(plan)
        if not resolved.open_runs():
            store.add_measurements(resolved.runs)
            print(f"scale {resolved.scale}: all {len(resolved.runs):,} runs are done, there is nothing to do")
            return 0
        print(status.summary(resolved), flush=True)
        priorities.write(resolved.order)
        work = _run_snakemake if has_snakemake() else sequential.work
        failed = work(resolved, apart, until, cores, words)
        store.add_measurements(resolved.runs)
        status.show(resolved)
    return _conclude(failed)


def snakemake_words(
    overlays: Sequence[Path] | None, scale: str | None, device: str | None, study: str | None = None
) -> list[str]:
    """Snakemake's options for the same plan."""
    from allmlp.plan.planned_runs import DEVICE_OF_SCALE  # needs pydantic, as Snakemake here does

    words = ["--configfile", str(paths.project() / "params.yaml"), *map(str, overlays or ())]
    changes = [f"{key}={value}" for key, value in (("scale", scale), ("device", device), ("study", study)) if value]
    words += ["--config", *changes] if changes else []
    if (device or DEVICE_OF_SCALE.get(scale or "")) == "cuda":
        words += ["--resources", f"gpu={max(1, len(machine())) * places()}"]
    return words


def has_snakemake() -> bool:
    """Can Snakemake read this project's Snakefile here?"""
    try:
        import pydantic
        import snakemake
    except ImportError:
        return False
    return bool(pydantic and snakemake)


def snakemake_command(cores: int, folder: Path, words: Sequence[str]) -> list[str]:
    """Snakemake making all measurements in a folder, where this process holds a lock of its own."""
    command = [sys.executable, "-m", "snakemake", "measurements", "--cores", str(cores), "--scheduler", "greedy"]
    command += ["--snakefile", str(paths.project() / "Snakefile"), "--directory", str(folder), "--nolock"]
    return [*command, "--retries", "1", *words]


def _run_snakemake(resolved: ResolvedPlan, apart: Path, until: float, cores: int, words: Sequence[str]) -> list[Path]:
    """Let Snakemake work until then. Returns the logs of jobs that failed for another reason.

    At the deadline it is killed before its jobs exit: it would count them as failed, and delete their files.
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment[deadline.VARIABLE] = str(until + AFTER_S)
    environment[priorities.VARIABLE] = str(priorities.ORDER.resolve())
    log = apart / "snakemake.log"
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            snakemake_command(cores, Path.cwd(), ["--keep-going", *words]),
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        paths.write_atomically(apart / processes.PID, str(process.pid))
        grace = 0.0
        try:
            while process.poll() is None and time.time() < until:
                time.sleep(0.1)
            grace = GRACE_S
        finally:
            process.kill()
            process.wait()
            processes.stop(apart, grace)
    said = log.read_text(encoding="utf-8")
    failed = _failed_logs(said)
    if process.returncode > 0 and not failed:
        raise UserError(
            f"Snakemake stopped (its log: {log}). Mend what its last words name, and call again.\n"
            f"{said.strip()[-2000:]}"
        )
    return failed


def _failed_logs(said: str) -> list[Path]:
    """The logs of jobs that failed according to Snakemake, also when it tried them again."""
    again = set(FINISHED.findall(said))
    failed = dict.fromkeys(Path(log) for job, log in FAILED.findall(said) if job not in again)
    return [log for log in failed if deadline.WORDS not in _last_line(log)]


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return lines[-1] if lines else ""


def _conclude(failed: list[Path]) -> int:
    for log in failed:
        print(f"failed: {log}: {_last_line(log)}", flush=True)
    return 1 if failed else 0
