"""`allmlp doctor`: is this machine fit for the work, and what is the one thing to mend first?"""

import csv
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import psutil

from allmlp.common import cores, dvc, git, locks, paths
from allmlp.common.errors import UserError
from allmlp.plan.status import last_step
from allmlp.training.gpus import machine

GB = 1e9
LEAST_MEMORY, LEAST_DISK = 4 * GB, 5 * GB  # for two trainings of scale long, and for the checkpoints of its runs
WORKFLOW = ("snakemake", "dvc", "pydantic")  # what a machine that only trains does without
LOCAL = "move the project to a local disk, or to a file system with locks"
NAMED = 3
PATIENCE_S = 60.0  # with a command that is asked
COLUMNS = re.compile(r"\s{2,}|\t")  # of DVC's lists; a path may have single blanks
AGAIN, RUNS = "laptop", Path("results/tables/runs.csv")  # the scale of `make reproduce`, and all measured runs


class Line(NamedTuple):
    """What was found of one thing. `mend`: how to mend it; empty if nothing is wrong. `limits`: no error, but
    something cannot be used because of it."""

    about: str
    found: str
    mend: str = ""
    limits: bool = False


def show() -> int:
    """Print a line per check and the one next step. Returns 1 if something is wrong."""
    lines = [line for check in CHECKS for line in check()]
    for line in lines:
        print(f"{'!' if line.mend else ' '} {line.about:<11}{line.found}")
    wrong = [line for line in lines if line.mend]
    see = "".join(f", but see {line.about}" for line in lines if line.limits)
    print(f"\nnext  {wrong[0].mend}" if wrong else f"\nnothing is wrong{see}; `allmlp` says what is next")
    return 1 if wrong else 0


def _python() -> Iterator[Line]:
    fits = sys.version_info >= (3, 11)
    yield Line("python", platform.python_version(), "" if fits else "make PYTHON=python3.11 install: 3.11 or newer")


def _code() -> Iterator[Line]:
    if foreign := paths.foreign_sources():
        yield Line("code", f"of another folder, {paths.PACKAGE}", foreign)


def _history() -> Iterator[Line]:
    """Is git's history here, from which ages of rules and origins of runs are worked out?"""
    if lacking := git.missing_history(paths.project()):
        yield Line("history", f"{lacking}. Ages of rules and origins of runs stay as committed", limits=True)


def _packages() -> Iterator[Line]:
    """The installed packages beside requirements.lock; one that is not there is named only if the workflow needs it."""
    locked = dict(line.split("==") for line in (paths.project() / "requirements.lock").read_text().split())
    here = {_normalise_name(one.name): one.version for one in metadata.distributions() if one.name}
    others = [
        f"{name} {here[_normalise_name(name)]} (lock: {version})"
        for name, version in locked.items()
        if _has_other_version(here, name, version)
    ]
    said = (
        f"{len(others)} differ from requirements.lock: {_first_names(others)}" if others else "as in requirements.lock"
    )
    yield Line("packages", said, "make install: versions as locked, so that results are the same" if others else "")
    if missing := [name for name in WORKFLOW if name not in here]:
        yield Line("workflow", f"{', '.join(missing)} not installed: this machine trains what a bundle brings")


def _normalise_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _has_other_version(here: dict[str, str], name: str, version: str) -> bool:
    found = here.get(_normalise_name(name), version)
    return found.partition("+")[0] != version.partition("+")[0]


def _torch() -> Iterator[Line]:
    import torch

    yield Line("torch", f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {cores.count()} cores")
    devices = machine()
    if not devices:
        yield Line("gpu", "none: trainings run on the CPU")
    elif os.environ.get("ALLMLP_FAKE_DEVICES"):
        yield Line("gpu", f"{len(devices)} fake ones, for tests")
    elif not torch.cuda.is_available():
        mend = "install a torch for this driver: https://pytorch.org/get-started/locally"
        yield Line("gpu", f"{len(devices)}, which this torch cannot use", mend)
    else:
        yield Line("gpu", f"{len(devices)} x {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}")


def _room() -> Iterator[Line]:
    free = psutil.virtual_memory().available
    yield _space_line("memory", free, LEAST_MEMORY, "end other programs, or take `--cores 1`")
    yield _space_line("disk", shutil.disk_usage(Path.cwd()).free, LEAST_DISK, f"make room in {Path.cwd()}")


def _space_line(about: str, free: float, least: float, mend: str) -> Line:
    return Line(about, f"{free / GB:.1f} GB free", "" if free >= least else f"{mend}: {least / GB:.0f} GB are needed")


def _locks() -> Iterator[Line]:
    """Does the file system lock?"""
    own = Path(f"work/doctor.{socket.gethostname()}.{os.getpid()}.lock")
    try:
        lock = locks.take(own)
        again = locks.take(own)
        fine = lock is not None and again is None
        yield Line("locks", "hold" if fine else "do not hold on this file system", "" if fine else LOCAL)
        for one in filter(None, (lock, again)):
            one.release()
    except UserError as error:
        yield Line("locks", str(error), LOCAL)
    finally:
        own.unlink(missing_ok=True)


def _active_jobs() -> Iterator[Line]:
    files = [Path("work/advance.lock"), *sorted(Path("work/runs").glob("*/lock"))]
    for file, found in ((file, locks.holder(file)) for file in files):
        if found:
            what = "allmlp advance" if file.name != "lock" else file.parent.name
            yield Line("at work", f"{what}: pid {found['pid']} on {found['host']} since {found['since']}")


def _unfinished_runs() -> Iterator[Line]:
    steps = {folder.name: last_step(folder) for folder in sorted(Path("work/runs").glob("*"))}
    done = Path("results/checkpoints")
    begun = [f"{name} at step {step:,}" for name, step in steps.items() if step and not (done / name).is_dir()]
    if begun:
        yield Line("unfinished", f"{len(begun)} runs: {_first_names(begun)}; the command that began them goes on")


def _answer(*command: str, **variables: str) -> "subprocess.CompletedProcess[str] | None":
    """What a command says within a minute; None if it does not end."""
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **variables}
        )
    return None


def _slurm() -> Iterator[Line]:
    if shutil.which("sinfo") is None:
        return
    done = _answer("sinfo", "--noheader", "--format=%D")
    if done is None or done.returncode:
        said = "nothing within a minute" if done is None else done.stderr.strip()[:200]
        yield Line("slurm", "sinfo does not answer", f"ask the cluster's administrator: {said}")
        return
    has = any(_normalise_name(one.name or "") == "snakemake-executor-plugin-slurm" for one in metadata.distributions())
    nodes = sum(map(int, done.stdout.split()))
    yield Line("slurm", f"{nodes} nodes", "" if has else "pip install -e .[slurm]: Snakemake's plugin is not installed")


def _remote() -> Iterator[Line]:
    if shutil.which("dvc") is None:
        return
    if (done := _answer("dvc", "remote", "list", COLUMNS="10000")) is None:  # a long path would have lines of its own
        yield Line("dvc remote", "dvc does not answer within a minute", "`dvc remote list` says more")
        return
    for name, url, *_ in (COLUMNS.split(line.strip()) for line in done.stdout.splitlines() if line.strip()):
        there = "" if "://" in url or Path(url).is_dir() else ", not there yet: `allmlp keep --push` makes it"
        yield Line("dvc remote", f"{name}: {url}{there}")


def _weights() -> Iterator[Line]:
    """What the pointers of DVC stand for, and where the weights come from that have none."""
    entries = dvc.pointers()
    for about, published in (("models", True), ("kept", False)):
        folders = [folder for folder, entry in entries.items() if dvc.is_published(entry) == published]
        place = f"published in git, {dvc.PUBLISHED}" if published else "kept in a remote of your own"
        absent = sum(not folder.is_dir() for folder in folders)
        if folders:
            pull = f", {absent} not here: `dvc pull --allow-missing` brings them" if absent else ", all here"
            yield Line(about, f"{len(folders)} folder{'s' * (len(folders) != 1)} {place}{pull}")
    if types := _training_cpus():
        said = " and ".join(f"{kind} ({count} run{'s' * (count != 1)})" for kind, count in types.items())
        yield Line(
            "other runs",
            f"without a pointer: `make reproduce` trains those of {AGAIN}, "
            f"the same bytes on one CPU type; git has {said}",
        )


def _training_cpus() -> dict[str, int]:
    """CPU type -> how many runs of `make reproduce` were committed from it."""
    if not RUNS.is_file():
        return {}
    with RUNS.open(encoding="utf-8", newline="") as stream:
        found = {row["run"]: row["hardware"] for row in csv.DictReader(stream) if row["scale"] == AGAIN}
    return dict(Counter(filter(None, found.values())).most_common())


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


CHECKS: tuple[Callable[[], Iterator[Line]], ...] = (
    _python,
    _code,
    _history,
    _packages,
    _torch,
    _room,
    _locks,
    _active_jobs,
    _unfinished_runs,
    _slurm,
    _remote,
    _weights,
)
