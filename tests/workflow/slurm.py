"""A Slurm of this machine alone: munge, a controller and two nodes that pretend to have two GPUs each.

All its files lie in one folder, and nothing of it outlives the tests: a process of its own keeps it, and ends it when
the tests have ended, in whatever way. Several can run beside one another, and beside a cluster's own.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

from tests.conftest import PROJECT

NODES, GPUS, MEMORY_MB = ("n1", "n2"), 2, 40_000  # a node holds two of the plan's GPU jobs
DAEMONS = ("munged", "slurmctld", "slurmd")
WHERE = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PATIENCE_S = 60.0

SETTINGS = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
ReturnToService=0
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=0
MinJobAge=86400
KillWait=20
PropagateResourceLimits=NONE
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=8 RealMemory={memory} Gres=gpu:{gpus}
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=8 RealMemory={memory} Gres=gpu:{gpus}
PartitionName=main Nodes=ALL Default=YES PriorityTier=1 LLN=YES
PartitionName=urgent Nodes=ALL PriorityTier=2 LLN=YES
"""


class MissingError(Exception):
    """Why there can be no Slurm here, for a skip."""


@dataclass(frozen=True)
class Slurm:
    """A running one, by its folder."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What its commands need."""
        return {"SLURM_CONF": f"{self.folder}/slurm.conf", "PATH": f"{self.folder}/bin:{WHERE}"}

    def ask(self, *words: str) -> str:
        """What one of Slurm's commands prints."""
        return subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def states(self) -> list[str]:
        """The states of its nodes."""
        return self.ask("sinfo", "-hNp", "main", "-o", "%t").split()

    def jobs(self, states: str = "running") -> list[str]:
        """The numbers of the jobs in these states."""
        return self.ask("squeue", "--noheader", "--format=%A", f"--states={states}").split()


@contextmanager
def running() -> Iterator[Slurm]:
    """A Slurm with free nodes while the block runs, installed by apt-get if it has to be. Raises MissingError."""
    install()
    words = [sys.executable, "-m", "tests.workflow.slurm"]
    with subprocess.Popen(words, cwd=PROJECT, stdin=PIPE, stdout=PIPE, text=True, start_new_session=True) as keeper:
        assert keeper.stdout
        folder = keeper.stdout.readline().strip()
        assert folder, "Slurm did not start"  # the keeper says why
        yield Slurm(Path(folder))


def keep() -> None:
    """Start one, print its folder, and end it when the input ends."""
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as name, ExitStack() as last:
        folder = Path(name)
        settle(folder)
        slurm = Slurm(folder)
        last.callback(end, slurm)
        munge = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        start(slurm, "munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge)
        wait(lambda: (folder / "munge.socket").exists(), "munged", folder)
        start(slurm, "slurmctld", "-D")
        for node in NODES:
            start(slurm, "slurmd", "-D", "-N", node)
        wait(lambda: slurm.states() == ["idle", "idle"], "free nodes", folder)
        print(folder, flush=True)
        sys.stdin.read()


def install() -> None:
    """Have the daemons on this machine. Raises MissingError where that cannot be."""
    if os.geteuid():
        raise MissingError("a Slurm for tests needs root")
    if all(shutil.which(daemon, path=WHERE) for daemon in DAEMONS):
        return
    if not shutil.which("apt-get"):
        raise MissingError("Slurm is not installed, and there is no apt-get to install it")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    patient = ("apt-get", "--quiet", "--option=DPkg::Lock::Timeout=300")  # two workers of pytest may ask at once
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "slurm-wlm", "munge"]):
        done = subprocess.run([*patient, *words], env=environment, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise MissingError(f"apt-get {words[0]} cannot install Slurm: {done.stderr.strip()[-200:]}")


def settle(folder: Path) -> None:
    """Write what the daemons read, and an `srun` for jobs: Snakemake's plugin hides SLURM_CONF from it."""
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    for node in NODES:
        (folder / f"spool-{node}").mkdir()
    (folder / "state").mkdir()
    for number in range(GPUS):
        os.mknod(folder / f"gpu{number}", 0o20666, os.makedev(1, 3))  # as /dev/null
    file = f"{folder}/gpu[0-{GPUS - 1}]"
    (folder / "gres.conf").write_text("".join(f"NodeName={node} Name=gpu File={file}\n" for node in NODES))
    ports = dict(zip(("controller", *NODES), free_ports(1 + len(NODES)), strict=True))
    said = SETTINGS.format(folder=folder, host=socket.gethostname().split(".")[0], memory=MEMORY_MB, gpus=GPUS, **ports)
    (folder / "slurm.conf").write_text(said)
    (folder / "bin").mkdir()
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=WHERE)} "$@"\n')
    srun.chmod(0o755)


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def start(slurm: Slurm, *words: str) -> None:
    """Start a daemon."""
    with (slurm.folder / f"{words[0]}.log").open("a") as log:
        subprocess.Popen(
            words, env={**os.environ, **slurm.environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def wait(there: Callable[[], bool], what: str, folder: Path) -> None:
    """Wait until something is there. AssertionError, with the logs of `folder`, if that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with suppress(subprocess.CalledProcessError):  # the controller does not answer yet
            if there():
                return
        time.sleep(0.1)
    logs = [f"{log}: {log.read_text()[-1500:]}" for log in folder.glob("*.log")]
    raise AssertionError("\n".join([f"waited {PATIENCE_S:.0f} s for {what}", *logs]))


def end(slurm: Slurm) -> None:
    """End all its jobs and daemons, and whatever they started."""
    with suppress(subprocess.SubprocessError, AssertionError):
        slurm.ask("scancel", "--user=root")
        wait(lambda: not slurm.jobs("pending,running,completing"), "the end of all jobs", slurm.folder)
    while found := members(slurm):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def members(slurm: Slurm) -> list[int]:
    """The processes of this Slurm: those with its settings in their environment."""
    mark = f"SLURM_CONF={slurm.environment['SLURM_CONF']}".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found


if __name__ == "__main__":
    keep()
