"""One trial of one fault: a step under the fault, what must hold then, and the same step again."""

import os
import pickle
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults import injecting
from tests.faults.forks import Ended, Fault, carried_out, nothing
from tests.faults.subject import STEPS, Subject, contents

NOT_POSSIBLE = "not possible here"
UNFINISHED = "work/runs/"  # of a begun run: nobody reads it but the run itself


class NotPossibleError(Exception):
    """This system cannot have the fault."""


class Artifact(NamedTuple):
    """What may be damaged: the files that match, made by a step. `folder`: the message says to delete their folder."""

    name: str
    files: str
    made_by: str
    folder: bool = False


class Row(NamedTuple):
    """The result of a trial. `lost`: what did not hold; empty if it survived."""

    kind: str
    step: str
    seed: int
    how: str
    lost: str


@dataclass
class Trial:
    """A copy of the subject right before a step, to be harmed."""

    subject: Subject
    step: str
    folder: Path
    draw: random.Random
    endings: list[Ended] = field(default_factory=list)
    damaged: Path | None = None
    way_out: list[str] = field(default_factory=list)  # steps that make again what was damaged

    @property
    def words(self) -> list[str]:
        """The step's command."""
        return self.subject.words(self.step)

    def step_under(self, fault: Fault = nothing, after: Fault = nothing) -> None:
        """Carry the step out under a fault of its process."""
        self.endings.append(carried_out(self.folder, self.words, fault, after))

    def aside(self, *words: str, fault: Fault = nothing) -> Ended:
        """Another command in the folder, which is no ending of the step."""
        return carried_out(self.folder, words, fault)

    def begin(self, state: Path) -> None:
        """Begin with the folder in another state."""
        shutil.rmtree(self.folder)
        shutil.copytree(state, self.folder)

    def changes(self) -> int:
        """How many changes of files the step makes."""
        return measured(self.subject, self.step)[0]

    def seconds(self) -> float:
        """How long it takes."""
        return measured(self.subject, self.step)[1]

    def _unseen_documents(self) -> list[int]:
        before, after = contents(self.subject.before(self.step)), contents(self.subject.is_later(self.step))
        return [len(content) for name, content in after.items() if before.get(name) != content] or [injecting.PAGE]

    def written(self) -> int:
        """How many bytes it writes."""
        return sum(self._unseen_documents())

    def largest(self) -> int:
        """How many bytes its largest file has."""
        return max(self._unseen_documents())

    def with_own_mounts(self) -> None:
        """Let this process mount without others seeing it."""
        if not injecting.own_mounts():
            raise NotPossibleError("no mounts of one's own")

    def on_a_small_disk(self) -> Path:
        """Move the folder to a disk of its own. Returns the disk's folder."""
        self.with_own_mounts()
        disk = self.folder.with_name("disk")
        disk.mkdir()
        injecting.mount("tmpfs", disk, "size=16m")
        self.move("disk/here")
        return self.folder

    def move(self, name: str) -> None:
        """Give the folder another place beside its own."""
        target = self.folder.parent / name
        target.parent.mkdir(parents=True, exist_ok=True)
        self.folder = Path(shutil.move(self.folder, target))

    def damage(self, artifact: Artifact) -> None:
        """Flip a bit of one of its files."""
        files = self.folder.glob(artifact.files.format(**self.subject.runs))
        self.damaged = self.flip(sorted(path for path in files if path.is_file()))
        self.way_out = list(STEPS[STEPS.index(artifact.made_by) : STEPS.index(self.step)])
        if artifact.folder:
            self.damaged = self.damaged.parent

    def flip(self, files: Sequence[Path]) -> Path:
        """Flip a bit of one of these files. Returns it."""
        chosen = self.draw.choice([path for path in files if path.stat().st_size])
        injecting.flip(chosen, self.draw)
        return chosen

    def mend(self) -> None:
        """Do what the message says: delete what is damaged, and make it again."""
        if self.damaged:
            timings = {path: path.read_bytes() for path in self.folder.glob("work/timings/*")}
            shutil.rmtree(self.damaged) if self.damaged.is_dir() else self.damaged.unlink()
            for step in self.way_out:
                again = carried_out(self.folder, self.subject.words(step))
                assert again.status == 0, again.said
            for path, content in timings.items():  # another duration is no other result
                path.write_bytes(content)


@cache
def measured(subject: Subject, step: str) -> tuple[int, float]:
    """How many changes of files a step makes, and how many seconds it takes."""
    folder, counter = subject.folder / f"counted-{step}", injecting.Counter()
    shutil.copytree(subject.before(step), folder)
    began = time.monotonic()
    assert carried_out(folder, subject.words(step), counter.prepare).status == 0
    took = time.monotonic() - began
    shutil.rmtree(folder)
    return max(1, counter.number), took


def carry_out(subject: Subject, kind: str, put: Callable[[Trial], None], step: str, seed: int, folder: Path) -> Row:
    """One trial, in a process of its own."""
    measured(subject, step)
    trial = Trial(subject, step, folder / "here", random.Random(f"{kind} {step} {seed}"))
    return Row(kind, step, seed, *_apart(lambda: _tried(trial, put)))


def _apart(work: Callable[[], tuple[str, str]]) -> Any:
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            found = work()
        except BaseException:
            found = ("", traceback.format_exc())
        with os.fdopen(write, "wb") as stream:
            pickle.dump(found, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        found = pickle.load(stream)
    os.waitpid(pid, 0)
    return found


def _tried(trial: Trial, put: Callable[[Trial], None]) -> tuple[str, str]:
    """How the trial ended, and what did not hold."""
    shutil.copytree(trial.subject.before(trial.step), trial.folder)
    before, after = contents(trial.folder), contents(trial.subject.is_later(trial.step))
    try:
        put(trial)
    except NotPossibleError as error:
        return f"{NOT_POSSIBLE}: {error}", ""
    how = _how(trial.endings)
    said = "\n".join(f"status {one.status}\n{one.said}" for one in trial.endings)
    for one in trial.endings:
        if wrong := _wrong_ending(one):
            return how, f"{wrong}\n{said}"
    if wrong := _harmed(trial, before, after):
        return how, f"{wrong}\n{said}"
    unread = trial.damaged and trial.endings[-1].status == 0
    if not unread:
        trial.mend()
    again = carried_out(trial.folder, trial.words)
    if again.status != 0:
        return how, f"the same command again ends with {again.status}\n{said}\nagain:\n{again.said}"
    aside = str(trial.damaged.relative_to(trial.folder)) if unread and trial.damaged else "-"
    if differs := _differing(_without(contents(trial.folder), aside), _without(after, aside)):
        return how, f"the same command again gives other files: {differs}\n{said}\nagain:\n{again.said}"
    return how, ""


def _how(endings: list[Ended]) -> str:
    if any(one.status == 2 for one in endings):
        return "message"
    return "killed" if any(one.status < 0 for one in endings) else "unharmed"


def _wrong_ending(one: Ended) -> str:
    """What is wrong with how a command ended: it may end well, be killed, or say one message."""
    if one.left:
        return "it left processes behind"
    if one.status not in (0, 2, -signal.SIGKILL):
        return f"it ended with status {one.status}"
    if one.status == 2 and ("Traceback" in one.said or one.said.count("error: ") != 1):
        return "no one clear message"
    return ""


def _harmed(trial: Trial, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Files that are neither as before nor as after. What is damaged is named by the message, if it was not mended."""
    now, last = contents(trial.folder), trial.endings[-1]
    if trial.damaged:
        damaged = str(trial.damaged.relative_to(trial.folder))
        if last.status != 0 and damaged not in last.said:
            return f"the message does not name {damaged}"
        now, before, after = (_without(of, damaged) for of in (now, before, after))
    if last.status == 0 and (found := _differing(now, after)):
        return f"it ended well with other files: {found}"
    wrong = [
        name
        for name, content in now.items()
        if "/." not in f"/{name}" and not name.startswith(UNFINISHED)  # hidden names are no finished files
        if content not in (before.get(name), after.get(name))
    ]
    gone = [name for name in before.keys() & after.keys() - now.keys() if not trial.damaged]
    return f"neither as before nor as after: {wrong + gone}" if wrong + gone else ""


def _without(files: dict[str, bytes], damaged: str) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.startswith(damaged)}


def _differing(now: dict[str, bytes], then: dict[str, bytes]) -> str:
    return ", ".join(sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name)))
