"""GPUs of its own for each job: `snakemake --resources gpu=4` only counts jobs and assigns no device.

    with lease("cuda") as device:     # waits until a GPU is free, then hides the others from CUDA
        model.to(device.name)         # always "cuda:0": CUDA sees the leased ones alone

The job's first process holds the lease, a lock on a file of its place in a folder of the machine, so that
the kernel frees the device the moment the process ends, SIGKILL included. Where a batch system or the user
has chosen a device, that choice is kept. Three environment variables:

    ALLMLP_RUNS_PER_GPU=8   so many jobs may share a device (default: 1)
    ALLMLP_DEVICES_FOLDER   the folder of the locks, for users who share GPUs (default: one per user in /tmp)
    ALLMLP_FAKE_DEVICES=4   devices named 0 to 3 in place of the machine's own, for tests without a GPU
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.training.gpu_slots import lock_emptiest, places
from allmlp.training.gpus import candidates, machine

VISIBLE = "CUDA_VISIBLE_DEVICES"
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")  # Slurm, PBS, LSF
BATCH_GPUS = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL", "PBS_GPUFILE")
POLL_S = 0.2

_used: tuple[str, ...] = ()  # the devices leased last: once CUDA has started, this process cannot change them


@dataclass(frozen=True)
class Device:
    """The first device for torch ("cpu" or "cuda:0"), and how it was chosen, for the log."""

    name: str
    note: str


@contextmanager
def lease(kind: str, *, count: int = 1, folder: Path | None = None, visible: str | None = None) -> Iterator[Device]:
    """A place on each of `count` devices while the block runs; call it before anything starts CUDA.

    kind: "cpu" or "cuda". folder: of the locks. visible: devices to choose from (comma-separated numbers or
    UUIDs of `nvidia-smi -L`) in place of CUDA_VISIBLE_DEVICES. The emptiest devices are taken. Waits while too few
    have a free place, with one line on stderr, and holds none meanwhile. A process that has started CUDA gets the
    devices of its last lease again. Raises UserError for another kind, a machine with too few CUDA devices or a wrong
    number of places, RuntimeError when CUDA started before any lease.
    """
    listed = os.environ.get(VISIBLE) if visible is None else visible
    require(kind, runs=1, visible=listed, count=count)
    if kind == "cpu":
        yield Device("cpu", "the CPU")
    elif visible is None and (chosen := _batch_system_variable(listed)):
        yield Device("cuda:0", f"left as chosen by {chosen}")
    else:
        with _lock_devices(candidates(listed), count, folder or _folder()) as devices, _limit_cuda(devices):
            shared = f"one of {each} places on {'each of ' * (count > 1)}" if (each := places()) > 1 else ""
            yield Device("cuda:0", f"{shared}CUDA device{'s' * (count > 1)} {', '.join(devices)}, leased")


def require(kind: str, runs: int, visible: str | None = None, count: int = 1) -> None:
    """Fail at once, before `runs` runs are started, unless this machine has `count` devices of that kind.

    visible: as CUDA_VISIBLE_DEVICES, which it defaults to. Raises UserError with the way out.
    """
    if kind not in ("cpu", "cuda"):
        raise UserError(f"device '{kind}': choose cpu or cuda.")
    visible = os.environ.get(VISIBLE) if visible is None else visible
    there = len(candidates(visible)) if kind == "cuda" else count
    if there >= count:
        return
    if there:
        raise UserError(
            f"a run asks for {count} GPUs (`processes: {count}`), and this machine has {there}: "
            f"set `processes: {there}` in a file of your own, or run it on another machine."
        )
    lack = "this machine has no CUDA device"
    if machine():
        lack = f"{VISIBLE}='{visible}' names none of this machine's CUDA devices"
    raise UserError(
        f"gpu=1 asked by {runs} run{'s' * (runs != 1)}, but {lack}: "
        "run on another machine; on a CPU these are other runs, which Snakemake makes with "
        "`--resources gpu=0 --config device=cpu`."
    )


def _batch_system_variable(listed: str | None) -> str | None:
    """The variable by which a batch system has chosen. A user's own list only names devices to lease."""
    batch = next((name for name in BATCH_GPUS if os.environ.get(name)), None)
    if listed is None or batch:
        return batch
    job = next((name for name in BATCH_JOBS if os.environ.get(name)), None)
    return f"{VISIBLE}={listed}" if job else None


@contextmanager
def _lock_devices(devices: list[str], count: int, folder: Path) -> Iterator[tuple[str, ...]]:
    """The `count` emptiest of `devices`, a place on each locked; waits for them."""
    global _used
    if _is_cuda_started():
        if not _used:
            raise RuntimeError("CUDA has started in this process before it leased a device")
        devices = list(_used)
    each = places()
    found = lock_emptiest(devices, count, each, folder)
    if not found:
        wanted = "a free GPU" if count == 1 else f"{count} free GPUs"
        shared = f", {each} runs on each" * (each > 1)
        print(f"waiting for {wanted} ({len(devices)} in use{shared})", file=sys.stderr, flush=True)
    while not found:
        time.sleep(POLL_S)
        found = lock_emptiest(devices, count, each, folder)
    _used = tuple(found)
    try:
        yield _used
    finally:
        for lock in found.values():
            lock.release()


@contextmanager
def _limit_cuda(devices: tuple[str, ...]) -> Iterator[None]:
    """Let CUDA see these devices alone, which it then numbers from 0."""
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = ",".join(devices)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VISIBLE]
        else:
            os.environ[VISIBLE] = before


def _is_cuda_started() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized()


def _folder() -> Path:
    """Where this machine's locks are: not TMPDIR, which may differ from job to job."""
    chosen = os.environ.get("ALLMLP_DEVICES_FOLDER")
    if chosen:
        return Path(chosen)
    folder = Path(f"/tmp/allmlp-devices-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to another user. Set ALLMLP_DEVICES_FOLDER to a folder of yours.")
    return folder
