"""Leases under fire: eight jobs on four devices, and whoever holds a device may be killed at any moment."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from allmlp.training import devices
from allmlp.training.devices import lease
from allmlp.training.gpu_slots import SHARED
from tests.numerics.test_resume import ended, in_a_fork

DEVICES, JOBS, KILLS, PATIENCE_S = 4, 8, 200, 20.0


class Jobs:
    """Processes that each lease a device, say so in a pipe, and keep it until `go` is there."""

    def __init__(self, go: Path) -> None:
        self.go = go
        self.heard, self.say = os.pipe()
        os.set_blocking(self.heard, False)
        self.alive: set[int] = set()
        self.holders: dict[str, int] = {}  # device -> who said last that it is his

    def start(self) -> None:
        """One more job."""
        self.alive.add(in_a_fork(self.work))

    def work(self) -> None:
        with lease("cuda"):
            os.write(self.say, f"{os.getpid()} {os.environ[devices.VISIBLE]}\n".encode())  # whole: it is short
            while not self.go.exists():
                time.sleep(0.01)

    def listen(self) -> None:
        """Take in what was said. A device that is said to be held must have lost its last holder before."""
        try:
            said = os.read(self.heard, 65536).decode().split()
        except BlockingIOError:
            return
        for pid, device in zip(map(int, said[::2]), said[1::2], strict=True):
            assert self.holders.get(device) not in self.alive, f"two jobs on device {device}"
            self.holders[device] = pid

    def busy(self) -> list[int]:
        """The holders, as soon as every device has one."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            self.listen()
            if len(found := [pid for pid in self.holders.values() if pid in self.alive]) == DEVICES:
                return found
            time.sleep(0.002)
        raise AssertionError(f"a device is lost: {self.holders} of {self.alive}")

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        assert ended(pid) == -signal.SIGKILL, "no job ends before it may"
        self.alive.discard(pid)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    for name in (SHARED, devices.VISIBLE, *devices.BATCH_JOBS, *devices.BATCH_GPUS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", str(DEVICES))
    monkeypatch.setenv("ALLMLP_DEVICES_FOLDER", str(tmp_path / "devices"))
    monkeypatch.setattr(devices, "_used", None)
    monkeypatch.setattr(devices, "POLL_S", 0.02)
    found = Jobs(tmp_path / "go")
    yield found
    for pid in list(found.alive):
        found.kill(pid)


@pytest.mark.slow
def test_two_hundred_kills_lose_no_device_and_share_none(jobs: Jobs) -> None:
    draw = random.Random(0)
    for _ in range(JOBS):
        jobs.start()
    kills = 0
    while kills < KILLS:
        for pid in draw.sample(jobs.busy(), draw.randint(1, DEVICES)):
            jobs.listen()
            jobs.kill(pid)
            jobs.start()  # as Snakemake repeats a job
            kills += 1
    assert len(jobs.busy()) == DEVICES
    assert len(jobs.alive) == JOBS
    jobs.go.touch()
    for pid in list(jobs.alive):
        assert ended(pid) == 0, "those that waited have their turn"
        jobs.alive.discard(pid)
