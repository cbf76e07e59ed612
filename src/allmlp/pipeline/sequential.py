"""Open runs trained and measured without Snakemake: the same commands in the same order, one process each.

For a machine with torch alone. A run is measured when its training has ended, before the next one is trained.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from allmlp.common import paths, processes
from allmlp.common.deadline import STATUS, VARIABLE
from allmlp.common.errors import UserError
from allmlp.common.processes import UNAVAILABLE
from allmlp.measurements.search_losses import runs_it_reads
from allmlp.plan.batches import is_unmeasured
from allmlp.plan.portable import ResolvedPlan
from allmlp.spec.run import Run

POLL_S = 0.1
GRACE_S = 60.0  # after the deadline, to save states and finish a measure


@dataclass(frozen=True)
class Job:
    """One process."""

    verb: str
    run: Run
    process: "subprocess.Popen[bytes]"

    @property
    def log(self) -> Path:
        return log_file(self.verb, self.run)


def log_file(verb: str, run: Run) -> Path:
    """The file of a job's output."""
    return Path("logs") / verb / f"{run.id}.log"


def work(resolved: ResolvedPlan, apart: Path, until: float, cores: int, _: Sequence[str] = ()) -> list[Path]:
    """Work until `until` on `cores` cores. Returns the logs of jobs that failed for another reason than the
    deadline.

    Raises UserError if tokens are missing, because no job here makes them.
    """
    _require_tokens(resolved)
    jobs: list[Job] = []
    begun: set[tuple[str, str]] = set()  # a job is tried once
    failed: list[Path] = []
    try:
        while True:
            while _cores_in_use(jobs) < cores and time.time() < until and (found := _next_job(resolved, begun)):
                begun.add((found[0], found[1].id))
                jobs.append(_start_job(*found, resolved.arguments, until))
                paths.write_atomically(apart / processes.PID, " ".join(str(job.process.pid) for job in jobs))
            if not jobs or time.time() >= until + GRACE_S:
                return failed
            time.sleep(POLL_S)
            ended = [job for job in jobs if job.process.poll() is not None]
            failed += [job.log for job in ended if job.process.returncode not in (0, STATUS, UNAVAILABLE)]
            jobs = [job for job in jobs if job not in ended]
    finally:
        processes.stop(apart)
        for job in jobs:
            job.process.wait()


def _cores_in_use(jobs: Sequence[Job]) -> int:
    """The cores that jobs take."""
    return sum(job.run.processes * job.run.threads if job.verb == "train" else 1 for job in jobs)


def _next_job(resolved: ResolvedPlan, begun: set[tuple[str, str]]) -> tuple[str, Run] | None:
    """The next job: measure a trained run, else train the first run with trained relatives."""
    runs, untrained = resolved.runs, resolved.untrained_runs()
    for run in runs:
        read = [run, *([run.relatives[run.parent]] if run.parent else [])]
        there = all(Path(one.checkpoint).is_file() for one in read)
        if there and is_unmeasured(run) and ("measure", run.id) not in begun:
            return "measure", run
    for run in runs:
        ready = all(Path(run.relatives[one].checkpoint).is_file() for one in runs_it_reads(run))
        if run.id in untrained and ready and ("train", run.id) not in begun:
            return "train", run
    return None


def _start_job(verb: str, run: Run, arguments: str, until: float) -> Job:
    environment = {**os.environ, VARIABLE: str(until), paths.DIRECTORY: os.getcwd()}  # it works where this process does
    log = log_file(verb, run)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab" if verb == "train" else "wb") as stream:
        command = [sys.executable, "-m", "allmlp", verb, run.id, *shlex.split(arguments)]
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    return Job(verb, run, process)


def _require_tokens(resolved: ResolvedPlan) -> None:
    files = {run.token_file: run for run in resolved.open_runs() if run.token_file}
    for file, run in files.items():
        if not Path(file).is_file():
            raise UserError(
                f"{file}: is missing, and {run.id} reads it. `allmlp tokenize` makes it, or unpack a bundle."
            )
