"""The catalogue of faults: what is done, and to which steps. `trials` says what must hold after each."""

import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.faults import injecting
from tests.faults.forks import ended, start
from tests.faults.subject import STEPS
from tests.faults.trials import Artifact, Trial


class Fault(NamedTuple):
    """A kind of fault. `put` runs a trial's step under it. `weight`: trials of each step in the full suite."""

    kind: str
    steps: tuple[str, ...]
    put: Callable[[Trial], None]
    weight: int = 1


def killed_at_a_change(trial: Trial) -> None:
    """SIGKILL right before a change of a file, one to three times in a row."""
    for _ in range(trial.draw.randint(1, 3)):
        number = trial.draw.randint(1, trial.changes())
        trial.step_under(injecting.at_change(number, injecting.die))


def killed_at_a_moment(trial: Trial) -> None:
    """SIGKILL after a random time."""
    fork = start(trial.folder, trial.words, cores=2)
    time.sleep(trial.draw.uniform(0, trial.seconds()))
    os.kill(fork.pid, signal.SIGKILL)
    trial.endings.append(ended(fork))


def power_cut(trial: Trial) -> None:
    """A power cut right before a change of a file, or right after the end: only synced data stays."""
    cut, number = injecting.PowerCut(), trial.draw.randint(1, trial.changes() + 1)

    def prepare() -> None:
        cut.prepare()
        injecting.at_change(number, cut.cut)()

    trial.step_under(prepare, after=cut.cut)


def full_disk(trial: Trial) -> None:
    """ENOSPC from a small disk, at a random byte of what the step writes."""
    with injecting.full_but(trial.on_a_small_disk(), trial.draw.randrange(trial.written() + injecting.PAGE)):
        trial.step_under()


def small_files(trial: Trial) -> None:
    """A limit on the size of files."""
    trial.step_under(injecting.small_files(trial.draw.randrange(trial.largest())))


def read_only(trial: Trial) -> None:
    """Results that cannot be written."""
    trial.with_own_mounts()
    with injecting.read_only(trial.folder / trial.draw.choice(["results", "."])):
        trial.step_under()


def without_locks(trial: Trial) -> None:
    """A file system without locks."""
    trial.step_under(injecting.without_locks(trial.draw.choice(injecting.LOCKLESS)))


def wrong_clock(trial: Trial) -> None:
    """A clock set back or forward, and files from the past and the future."""
    injecting.shuffle_times(trial.folder, trial.draw)
    trial.step_under(injecting.clock(trial.draw.uniform(-3e8, 3e8)))


def twice_at_once(trial: Trial) -> None:
    """Two makers of the same at once."""
    first = start(trial.folder, trial.words)
    time.sleep(trial.draw.uniform(0, trial.seconds() / 2))
    second = start(trial.folder, trial.words)
    trial.endings += [ended(first), ended(second)]


def strange_path(trial: Trial) -> None:
    """A path with blanks, quotes and letters beyond ASCII."""
    trial.move("my föld€r 'of' $HOME; 部屋/läuft hier")
    trial.step_under()


def flipped(artifact: Artifact) -> Callable[[Trial], None]:
    """One bit of an artifact that the step reads is another one."""

    def put(trial: Trial) -> None:
        trial.damage(artifact)
        trial.step_under()

    return put


ARTIFACTS = {
    "train": [Artifact("tokens", "results/tokens/*/*", "tokenize", folder=True)],
    "measure": [Artifact("checkpoint", "results/checkpoints/{text}/*", "train", folder=True)],
    "select": [Artifact("measurement", "work/measurements/*/*/{text}-*.parquet", "measure")],
    "judge": [Artifact("part of the measurements", "results/measurements/*/*/*.parquet", "measure")],
}

CATALOGUE = [
    Fault("SIGKILL at a change of a file", STEPS, killed_at_a_change, 6),
    Fault("SIGKILL at a moment", STEPS, killed_at_a_moment, 4),
    Fault("power cut, data not synced", STEPS, power_cut, 6),
    Fault("full disk", STEPS, full_disk, 5),
    Fault("limited size of files", STEPS, small_files, 2),
    Fault("read-only folder", STEPS, read_only, 1),
    Fault("no locks on this file system", ("train",), without_locks, 6),
    Fault("wrong clock and times", STEPS, wrong_clock, 1),
    Fault("two makers at once", STEPS, twice_at_once, 2),
    Fault("blanks and other letters in the path", STEPS, strange_path, 1),
    *(
        Fault(f"flipped bit: {artifact.name}", (step,), flipped(artifact), 8)
        for step, artifacts in ARTIFACTS.items()
        for artifact in artifacts
    ),
]
