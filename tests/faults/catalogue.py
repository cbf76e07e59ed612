"""The catalogue of faults: what is done, and to which steps. `trials` says what must hold after each."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.conftest import git
from tests.faults import injecting
from tests.faults.forks import children, ended, start
from tests.faults.subject import MADE, STEPS, lock
from tests.faults.trials import Artifact, Trial


class Fault(NamedTuple):
    """A kind of fault. `put` runs a trial's step under it. `seeds`: trials of each step in the full suite."""

    kind: str
    steps: tuple[str, ...]
    put: Callable[[Trial], None]
    seeds: int = 1


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


def begun(trial: Trial) -> list[Path]:
    """Kill the training where it has states, or has ended and is not published. Returns the files of its folder."""
    folder = trial.folder / "work/runs" / trial.subject.runs["text"]
    while not list(folder.glob("state-*.json")) and not (folder / "complete").is_file():
        number = trial.draw.randint(trial.changes() // 2, trial.changes() - 2)
        trial.aside(*trial.words, fault=injecting.at_change(number, injecting.die))
    return sorted(path for path in folder.iterdir() if path.name != "lock" and not path.name.startswith("."))


def flipped_state(trial: Trial) -> None:
    """A flipped bit in the folder of a begun run: an older state counts, or the beginning."""
    trial.flip(begun(trial))
    trial.step_under()


def flipped_bundle(trial: Trial) -> None:
    """A flipped bit in a bundle with a begun run: nothing of it is unpacked, or all of it as it was packed."""
    bundle = trial.subject.folder / "bundle"
    if not bundle.is_file():
        begun(trial)
        packed = trial.aside("pack", str(trial.folder.with_name("packed")), "--scale=smoke")
        assert packed.status == 0, packed
        trial.folder.with_name("packed").replace(bundle)  # in one step: others may pack it too
        trial.begin(trial.subject.before(trial.step))
    flipped = trial.flip([Path(shutil.copy(bundle, trial.folder / "bundle"))])
    unpacked = trial.aside("unpack", str(flipped))
    (trial.folder / "work/plan.json").unlink(missing_ok=True)
    trial.endings.append(unpacked)
    if unpacked.status == 0:
        trial.step_under()


MADE_BY = {
    "select": "results/selected.json",
    "judge": "results/claims.json",
    "power": "results/power.json",
    "tabulate": "results/tables/**/*.csv",
    "draw": "results/figures/copying/*",
    "render": "results/report.html",
}


def flipped_result(trial: Trial) -> None:
    """A flipped bit in what a step of the last mile made: `allmlp verify` names it, and the step makes it again."""
    trial.begin(trial.subject.is_later(trial.step))
    lock(trial.folder)
    git(trial.folder, "init", "--quiet")
    git(trial.folder, "add", "--all")
    git(trial.folder, "commit", "--quiet", "--message=results")
    damaged = trial.flip(sorted(trial.folder.glob(MADE_BY[trial.step])))
    verified = trial.aside("verify")
    shutil.rmtree(trial.folder / ".git")
    name = damaged.relative_to(trial.folder)
    folder = next(path for path in (name, *name.parents) if str(path.relative_to("results")) in MADE)
    assert verified.status == 1, verified
    assert f"{name}: " in verified.said or f"{folder}: " in verified.said, verified
    trial.step_under()


def killed_worker(trial: Trial) -> None:
    """SIGKILL to one of the processes that share the work, as the kernel does when memory is short."""
    fork, until = start(trial.folder, trial.words, cores=2), time.monotonic() + trial.seconds()
    while not (workers := children(fork.pid)) and time.monotonic() < until:
        time.sleep(0.001)
    for worker in workers[:1]:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    trial.endings.append(ended(fork))


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
    Fault("SIGKILL of a worker", ("judge", "tabulate", "draw"), killed_worker, 2),
    Fault("flipped bit: begun run", ("train",), flipped_state, 12),
    Fault("flipped bit: bundle", ("train",), flipped_bundle, 8),
    Fault("flipped bit: result of the last mile", tuple(MADE_BY), flipped_result, 2),
    *(
        Fault(f"flipped bit: {artifact.name}", (step,), flipped(artifact), 8)
        for step, artifacts in ARTIFACTS.items()
        for artifact in artifacts
    ),
]
