"""What ends or hinders a job: a kill, another job on the device, too little memory."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.pipeline.gpu_check.outcome import Check
from allmlp.pipeline.gpu_check.training import small_run
from allmlp.training.devices import BATCH_GPUS, BATCH_JOBS, VISIBLE
from allmlp.training.gpu_slots import SHARED
from allmlp.training.gpus import FAKE

STEPS, PATIENCE_S = 400, 120.0
CHOOSING = (SHARED, FAKE, VISIBLE, *BATCH_JOBS, *BATCH_GPUS)  # what lets jobs share or keep a device
LARGE, LEFT = {"string_length": 16, "batch_size": 4096}, 256 << 20  # sequences of a batch, and bytes for this process
SAME = 1e-3  # nats: on a GPU sums of one step may be taken in another order
LEASES = "from allmlp.training.devices import lease\nwith lease('cuda'):\n    print('leased', flush=True)\n"


def check_kill(device: str) -> Iterator[Check]:
    """SIGKILL in the middle of a training; the same command goes on. Its losses against an undisturbed run's."""
    yield "killed and resumed", partial(_resume_after_kill, device)


def _resume_after_kill(device: str) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        _start_process(device, one).join()
        process = _start_process(device, other)
        until = time.monotonic() + PATIENCE_S
        while len(_losses(other)) < STEPS // 4 and process.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.join()
        before = len(_losses(other))
        again = _start_process(device, other)
        again.join()
        known, found = _losses(one), _losses(other)
    apart = max((abs(a - b) for a, b in zip(known, found, strict=False)), default=float("nan"))
    passed = process.exitcode == -signal.SIGKILL and 0 < before < STEPS and len(found) == len(known) == STEPS
    bits = "the same bits" if known == found else f"at most {apart:.1e} nats apart (allowed {SAME:g})"
    return passed and apart <= SAME, f"killed at step {before} of {STEPS}: {bits}"


def _start_process(device: str, folder: str) -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=_train, args=(device, folder))
    process.start()
    return process


def _train(device: str, folder: str) -> None:
    os.environ["ALLMLP_SAVE_SECONDS"] = "0.05"
    from allmlp.training.loop import Training

    Training(small_run("causal-rn", device, steps=STEPS), Path(folder)).train()


def _losses(folder: str) -> list[float]:
    file = Path(folder) / "log.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.is_file() else []
    return [json.loads(line)["loss"] for line in lines if line.endswith("\n")]


def check_lease(device: str) -> Iterator[Check]:
    """A job that wants the device that another one has waits for it, and gets it."""
    yield "a leased device", partial(_wait_for_lease, device)


def _wait_for_lease(device: str) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if key not in CHOOSING}
        environment |= {VISIBLE: os.environ.get(VISIBLE, "0").split(",")[0]} if device == "cuda" else {FAKE: "1"}
        environment["ALLMLP_DEVICES_FOLDER"] = folder
        command = [sys.executable, "-c", f"{LEASES}    input()"]
        pipe = subprocess.PIPE
        first = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert first.stdout
        began = first.stdout.readline()
        second = subprocess.Popen(
            [sys.executable, "-c", LEASES], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        assert second.stderr
        waits = second.stderr.readline()
        first.kill()
        first.wait()
        got, _ = second.communicate(timeout=PATIENCE_S)
    passed = began.strip() == "leased" and waits.startswith("waiting for") and got.strip() == "leased"
    return passed, f"the second job: {waits.strip()}; after a SIGKILL of the first: {got.strip()}"


def check_large_batch(device: str) -> Iterator[Check]:
    """A batch that does not fit ends with a message that says what to do. On a CPU there is no such limit."""
    if device == "cuda":
        yield "too little memory", partial(_exhaust_memory, device)


def _exhaust_memory(device: str) -> tuple[bool, str]:
    import torch

    from allmlp.training.loop import Training
    from allmlp.training.out_of_memory import name_memory_error

    run = small_run("causal-rn", device, task_parameters=LARGE)
    torch.cuda.set_per_process_memory_fraction(LEFT / torch.cuda.get_device_properties(0).total_memory)
    said = "no error: the batch fitted"
    try:
        with tempfile.TemporaryDirectory() as folder, name_memory_error(run):
            Training(run, Path(folder)).train()
    except UserError as error:
        said = str(error)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    return "accumulation" in said, said
