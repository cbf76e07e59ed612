"""The Slurm profile, with the real daemons on this machine; skipped where there are none."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import call, edit

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
SNAKEMAKE = ("snakemake", "--workflow-profile", "workflow/profiles/slurm")

STUMBLE = f"""#!/bin/sh
# `allmlp`, whose first job is cancelled when its work is done
{BIN}/allmlp "$@" || exit
if [ ! -e stumbled ]; then ls results/checkpoints/*/final.safetensors > stumbled; scancel $SLURM_JOB_ID; sleep 60; fi
"""

SPY = f"""#!/bin/sh
# `allmlp train RUN`, which notes what device the job was given, and trains nothing
ALLMLP_FAKE_DEVICES=64 {BIN}/python -c '
import os
from allmlp.training.devices import VISIBLE, lease
with lease("cuda") as device:
    print(os.environ[VISIBLE], device.note, sep=", ")' > seen
mkdir -p results/checkpoints/$2 && touch results/checkpoints/$2/final.safetensors
"""


@pytest.fixture(scope="module")
def gpus() -> str:
    """The GPUs of this machine's Slurm, as `sinfo` says it ("gpu:2", "(null)"); skips where no Slurm answers."""
    if not shutil.which("sinfo"):
        pytest.skip("Slurm is not installed")
    if not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        pytest.skip("the package snakemake-executor-plugin-slurm is not installed")
    try:
        said = subprocess.run(["sinfo", "-hNo", "%n %t %G"], capture_output=True, text=True, timeout=10).stdout
    except subprocess.TimeoutExpired:
        said = ""
    nodes = [line.split() for line in said.splitlines()]
    if not any(state in ("idle", "mix") for _, state, _ in nodes):
        pytest.skip("no Slurm controller answers, or it has no free node")
    if {host for host, _, _ in nodes} != {socket.gethostname().split(".")[0]}:
        pytest.skip("Slurm has other machines than this one, which do not see the test's folder")
    return nodes[0][2]


def submitted(said: str) -> list[str]:
    """The rules whose jobs went to Slurm, by what Snakemake said."""
    return [line.split("/slurm_logs/rule_")[1].split("/")[0] for line in said.splitlines() if "SLURM jobid" in line]


def instead(clone: Path, script: str) -> str:
    """A PATH with `script` in place of `allmlp`."""
    program = clone.parent / "bin" / "allmlp"
    program.parent.mkdir()
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    return os.pathsep.join([str(program.parent), str(BIN), os.environ["PATH"]])


@pytest.mark.usefixtures("gpus")
def test_everything_is_made_by_slurm_jobs(clone: Path) -> None:
    edit(clone, "params.yaml", "scale: smoke", "scale: laptop")
    (clone / "my.yaml").write_text("studies: {quadrature: {scales: {smoke: {steps: 25}}}}\n", encoding="utf-8")
    plan = ("--configfile", "params.yaml", "my.yaml", "--config", "scale=smoke")
    jobs = submitted(call(clone, *SNAKEMAKE, *plan).stderr)
    steps = {f"{verb}_{study}_1" for verb in ("train", "measure") for study in ("language", "copying", "quadrature")}
    assert set(jobs) >= {"tokenize", *steps}
    assert len(jobs) == len(set(jobs)), "no job was repeated"
    own = clone / "own/my"
    assert "25 steps" in (own / "logs/train/quadrature_1.log").read_text(encoding="utf-8"), "the overlay arrived"
    assert (own / "results/report.html").is_file()
    assert "Nothing to be done" in call(clone, *SNAKEMAKE, *plan).stderr
    assert "Nothing to be done" in call(clone, "snakemake", "--cores", "1", *plan).stderr


@pytest.mark.usefixtures("gpus")
def test_a_cancelled_job_is_repeated(clone: Path) -> None:
    """A job reads the Snakefile for itself: it must find its rule again, which is only there for what is missing."""
    said = call(clone, *SNAKEMAKE, "train_quadrature_1", PATH=instead(clone, STUMBLE)).stderr
    assert "CANCELLED" in said
    assert submitted(said) == ["train_quadrature_1"] * 2
    (weights,) = (clone / "stumbled").read_text(encoding="utf-8").split()
    assert (clone / weights).is_file()


def test_a_gpu_job_uses_the_device_that_slurm_gives_it(gpus: str, clone: Path) -> None:
    if "gpu" not in gpus:
        pytest.skip("this machine's Slurm knows of no GPU")
    words = ("--config", "device=cuda", "--set-resources", "train_quadrature_1:mem_mb=500", "--", "train_quadrature_1")
    call(clone, *SNAKEMAKE, *words, PATH=instead(clone, SPY))
    visible, note = (clone / "seen").read_text(encoding="utf-8").strip().split(", ")
    assert visible.isdigit(), "one device"
    assert note.startswith("left as chosen by SLURM_")
