"""Leases of devices by real processes, on a machine that pretends to have GPUs."""

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from allmlp.common.errors import UserError
from allmlp.common.locks import take
from allmlp.pipeline.advancing import snakemake_words
from allmlp.pipeline.snakefile import limit_gpus
from allmlp.training import devices, gpus
from allmlp.training.devices import lease, require
from allmlp.training.gpu_slots import SHARED

JOB = """
import os, sys, time
from pathlib import Path
from allmlp.training.devices import lease
name, folder = sys.argv[1], Path(sys.argv[2])
with lease("cuda") as device:
    began = time.monotonic_ns()
    (folder / f"{name}.began").write_text(f"{device.name} {os.environ['CUDA_VISIBLE_DEVICES']}")
    while not (folder / "go").exists():
        time.sleep(0.01)
    time.sleep(0.05)
    ended = time.monotonic_ns()
(folder / f"{name}.spans").write_text(f"{began} {ended}")
"""
CHOSEN = [SHARED, devices.VISIBLE, *devices.BATCH_JOBS, *devices.BATCH_GPUS]


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Four fake devices, their locks in the test's folder, nothing chosen by whoever runs the tests."""
    for name in CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "4")
    monkeypatch.setenv("ALLMLP_DEVICES_FOLDER", str(tmp_path / "devices"))
    monkeypatch.setattr(devices, "_used", ())
    monkeypatch.setattr(devices, "_is_cuda_started", lambda: False)


@pytest.fixture
def start(tmp_path):
    """Start jobs that keep their device until `tmp_path/go` is there; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start_one(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", JOB, name, str(tmp_path)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def await_began(folder: Path, count: int) -> dict[str, str]:
    """{job: "cuda:0 DEVICE"} as soon as `count` jobs have a device."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        began = {path.stem: path.read_text() for path in sorted(folder.glob("*.began"))}
        if sum(map(bool, began.values())) >= count:
            return began
        time.sleep(0.01)
    raise AssertionError(f"fewer than {count} jobs got a device")


def test_six_jobs_on_four_devices_never_share_one_and_all_finish(start, tmp_path):
    jobs = {f"job{i}": start(f"job{i}") for i in range(6)}
    first = await_began(tmp_path, 4)
    assert sorted(first.values()) == [f"cuda:0 {i}" for i in range(4)], "four at once, each on its own"
    for name in jobs.keys() - first.keys():
        assert jobs[name].stderr.readline() == "waiting for a free GPU (4 in use)\n"
    (tmp_path / "go").touch()
    for job in jobs.values():
        assert job.wait(timeout=30) == 0
        assert job.stderr.read() == "", "waiting is said once"
    spans: dict[str, list[tuple[int, int]]] = {}
    for name in jobs:
        began, ended = map(int, (tmp_path / f"{name}.spans").read_text().split())
        spans.setdefault((tmp_path / f"{name}.began").read_text(), []).append((began, ended))
    assert sum(map(len, spans.values())) == 6
    for on_one_device in map(sorted, spans.values()):
        for (_, ended), (began, _) in pairwise(on_one_device):
            assert ended <= began


def test_eight_jobs_on_two_devices_with_two_places_spread_and_never_are_more_than_two(start, tmp_path, monkeypatch):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "2")
    monkeypatch.setenv(SHARED, "2")
    early = []
    for number in (0, 1):
        early.append(start(f"job{number}"))
        began = await_began(tmp_path, number + 1)
    assert sorted(began.values()) == ["cuda:0 0", "cuda:0 1"], "each device gets one before any gets two"
    jobs = [start(f"job{number}") for number in range(2, 8)]
    first = await_began(tmp_path, 4)
    assert sorted(first.values()) == ["cuda:0 0", "cuda:0 0", "cuda:0 1", "cuda:0 1"]
    for number in range(2, 8):
        if f"job{number}" not in first:
            assert jobs[number - 2].stderr.readline() == "waiting for a free GPU (2 in use, 2 runs on each)\n"
    (tmp_path / "go").touch()
    assert all(job.wait(timeout=30) == 0 for job in (*early, *jobs))
    on = {path.stem: path.read_text() for path in tmp_path.glob("*.began")}
    assert len(on) == 8
    for device in ("cuda:0 0", "cuda:0 1"):
        mine = [tuple(map(int, (tmp_path / f"{n}.spans").read_text().split())) for n in on if on[n] == device]
        assert max(sum(b <= began < e for b, e in mine) for began, _ in mine) == 2


def test_the_emptiest_device_is_next_whatever_its_place(monkeypatch, tmp_path):
    """Device 0 has a free first place and two others taken, device 1 a taken first place."""
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "2")
    monkeypatch.setenv(SHARED, "3")
    taken = [take(tmp_path / "devices" / name) for name in ("0.place-2.lock", "0.place-3.lock", "1.lock")]
    assert all(taken)
    with lease("cuda") as device:
        assert os.environ[devices.VISIBLE] == "1"
        assert device.note == "one of 3 places on CUDA device 1, leased"
    with lease("cuda", count=2) as team:
        assert os.environ[devices.VISIBLE] == "1,0", "a team's places are on different devices"
        assert team.note == "one of 3 places on each of CUDA devices 1, 0, leased"


def test_a_job_that_does_not_share_keeps_off_devices_that_others_share(monkeypatch, tmp_path):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "2")
    held = take(tmp_path / "devices" / "0.place-2.lock")
    with lease("cuda"):
        assert os.environ[devices.VISIBLE] == "1"
    held.release()
    with lease("cuda"):
        assert os.environ[devices.VISIBLE] == "0"


@pytest.mark.parametrize("said", ["0", "-1", "2.5", "many", ""])
def test_a_wrong_number_of_places_is_refused(said, monkeypatch):
    monkeypatch.setenv(SHARED, said)
    with pytest.raises(UserError, match=f"ALLMLP_RUNS_PER_GPU='{said}': give the number of runs"), lease("cuda"):
        pass


@pytest.mark.parametrize(("each", "asked", "left"), [("1", 4, 2), ("3", 4, 4), ("3", 9, 6)])
def test_snakemakes_gpus_are_limited_to_the_places(each, asked, left, monkeypatch, capsys):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "2")
    monkeypatch.setenv(SHARED, each)
    scheduler = SimpleNamespace(global_resources={"gpu": asked}, resources={"gpu": asked})
    limit_gpus(scheduler, SimpleNamespace(batches_to_train=[SimpleNamespace(gpus=1)]))
    assert scheduler.global_resources == scheduler.resources == {"gpu": left}
    assert (f": {left} GPU jobs at a time" in capsys.readouterr().err) == (left < asked)
    assert snakemake_words([], None, "cuda")[-1] == f"gpu={2 * int(each)}"


def test_a_killed_job_frees_its_device_at_once(start, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "1")
    job = start("killed")
    await_began(tmp_path, 1)
    job.kill()
    job.wait()
    with lease("cuda") as device:
        assert device.name == "cuda:0"
    assert capfd.readouterr().err == "", "no waiting"


def test_the_leased_device_is_all_that_cuda_sees_and_the_environment_comes_back():
    with lease("cuda") as one, lease("cuda", visible="3,0,1") as other:
        assert os.environ[devices.VISIBLE] == "3"
        assert (one.name, one.note) == ("cuda:0", "CUDA device 0, leased")
        assert (other.name, other.note) == ("cuda:0", "CUDA device 3, leased")
    assert devices.VISIBLE not in os.environ


@pytest.mark.parametrize(
    ("chosen", "by"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_ID": "17"}, "CUDA_VISIBLE_DEVICES=0,1"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "PBS_GPUFILE": "/var/spool/pbs/aux/17gpu"}, "PBS_GPUFILE"),
        ({"SLURM_JOB_GPUS": "1", "SLURM_JOB_ID": "17"}, "SLURM_JOB_GPUS"),
        ({"SLURM_STEP_GPUS": "1"}, "SLURM_STEP_GPUS"),
    ],
)
def test_what_a_batch_system_or_the_user_chose_is_left_alone(chosen, by, monkeypatch, tmp_path):
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with lease("cuda") as device, lease("cuda") as twin:
        assert dict(os.environ) == before
        assert device == twin == devices.Device("cuda:0", f"left as chosen by {by}")
    assert not (tmp_path / "devices").exists()


def test_a_users_list_is_leased_from(monkeypatch, tmp_path):
    monkeypatch.setenv(devices.VISIBLE, "3,1")
    taken = take(tmp_path / "devices" / "3.lock")
    assert taken
    with lease("cuda"):
        assert os.environ[devices.VISIBLE] == "1"
    taken.release()
    with lease("cuda"):
        assert os.environ[devices.VISIBLE] == "3"
    assert os.environ[devices.VISIBLE] == "3,1"


def test_a_process_that_has_started_cuda_gets_the_same_device_again(monkeypatch):
    """Its context stays where it was, whatever the environment says later."""
    with lease("cuda", visible="2"):
        monkeypatch.setattr(devices, "_is_cuda_started", lambda: True)
    with lease("cuda") as device:
        assert device.note == "CUDA device 2, leased"


def test_cuda_started_before_any_lease_is_refused(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv(devices.VISIBLE, raising=False)
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "1")
    torch = SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(RuntimeError, match="before it leased a device"), lease("cuda"):
        pass


def test_the_cpu_needs_no_lease(monkeypatch, tmp_path):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "0")
    with lease("cpu") as device:
        assert device.name == "cpu"
    require("cpu", runs=3)
    assert not (tmp_path / "devices").exists()


@pytest.mark.parametrize(("runs", "said"), [(12, "12 runs"), (1, "1 run")])
def test_without_a_device_the_way_out_is_named(runs, said, monkeypatch):
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "0")
    with pytest.raises(UserError) as error:
        require("cuda", runs)
    assert str(error.value) == (
        f"gpu=1 asked by {said}, but this machine has no CUDA device: "
        "run on another machine; on a CPU these are other runs, which Snakemake makes with "
        "`--resources gpu=0 --config device=cpu`."
    )
    with pytest.raises(UserError, match="no CUDA device"), lease("cuda"):
        pass


@pytest.mark.parametrize("hidden", ["", "-1", "NoDevFiles", "7"])
def test_hidden_devices_are_not_called_missing(hidden, monkeypatch):
    monkeypatch.setenv(devices.VISIBLE, hidden)
    with pytest.raises(UserError, match=f"CUDA_VISIBLE_DEVICES='{hidden}' names none of this machine's"):
        require("cuda", 2)


def test_a_misspelt_device_is_refused():
    with pytest.raises(UserError, match="device 'gpu': choose cpu or cuda"):
        require("gpu", 1)


LISTING = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-aaaa1111-0000)
  MIG 3g.40gb     Device  0: (UUID: MIG-1111-0000)
  MIG 3g.40gb     Device  1: (UUID: MIG-GPU-aaaa1111-0000/2/0)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-bbbb2222-0000)
"""


def test_numbers_names_and_slices_of_a_listing(monkeypatch, tmp_path):
    nvidia_smi = tmp_path / "bin" / "nvidia-smi"
    nvidia_smi.parent.mkdir()
    nvidia_smi.write_text(f"#!/bin/sh\n[ \"$1\" = -L ] && cat <<'END'\n{LISTING}END\n")
    nvidia_smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nvidia_smi.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("ALLMLP_FAKE_DEVICES")
    gpus._nvidia_smi.cache_clear()
    slices = ["MIG-1111-0000", "MIG-GPU-aaaa1111-0000/2/0"]
    assert gpus.candidates(None) == [*slices, "GPU-bbbb2222-0000"]
    assert gpus.candidates("1,0") == ["GPU-bbbb2222-0000", slices[0]]
    assert gpus.candidates("GPU-bbbb,1,9,0") == ["GPU-bbbb2222-0000"], "one name per device; ends at the unknown"
    with lease("cuda", visible=slices[1]):
        assert os.environ[devices.VISIBLE] == slices[1]
        held = {path.name for path in (tmp_path / "devices").iterdir()}
        assert held == {"MIG-GPU-aaaa1111-0000_2_0.lock", "choosing.lock"}
    gpus._nvidia_smi.cache_clear()


@pytest.mark.parametrize("script", [None, "echo 'GPU 0: X (UUID: GPU-1)'; exit 9"])
def test_no_driver_means_no_device(script, monkeypatch, tmp_path):
    if script:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ALLMLP_FAKE_DEVICES")
    gpus._nvidia_smi.cache_clear()
    assert gpus.candidates(None) == []
    gpus._nvidia_smi.cache_clear()
