"""Which came first, a claim's rule or its results: by git's history, which nobody rewrites by measuring again.

A rule is of the commit that wrote its line in rules.lock, a result of the commit that first added a measurement of the
same run settings and measure, under whatever recipe. What is not committed yet is younger than all that is. A rule that
comes with its results is not younger than they are. Where git does not know, nothing is said (None).
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from allmlp import rules

MEASUREMENTS = "results/measurements"
SETTINGS = re.compile(rb'"settings": "([0-9a-f]{16})"')
STEM = re.compile(r"-[0-9a-f]{8}-r\d+\.parquet$")
NOT_YET = "not committed"


def _git(root: Path, *words: str, given: str = "") -> bytes:
    """What git prints; nothing where there is no git or it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=root, input=given.encode(), capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return b""
    return done.stdout


@dataclass(frozen=True)
class History:
    """What the history of HEAD says. `ancestors`: commit -> bits of it and all that it rests on; `times`: author's."""

    root: Path
    ancestors: dict[str, int]
    bits: dict[str, int]
    times: dict[str, int]
    _settings: dict[str, str] = field(default_factory=dict, compare=False, repr=False)  # blob -> of its run

    @classmethod
    def of(cls, root: Path) -> "History":
        """Of the repository that holds a folder: empty where there is none, or where its history was cut off."""
        ancestors: dict[str, int] = {}
        bits: dict[str, int] = {}
        times: dict[str, int] = {}
        if _git(root, "rev-parse", "--is-shallow-repository").strip() == b"false":
            listed = _git(root, "log", "--reverse", "--topo-order", "--format=%H %at %P").decode().splitlines()
            for number, line in enumerate(listed):
                commit, time, *parents = line.split()
                bits[commit], times[commit] = 1 << number, int(time)
                ancestors[commit] = 1 << number
                for parent in parents:
                    ancestors[commit] |= ancestors[parent]
        return cls(root, ancestors, bits, times)

    def after(self, one: str, other: str) -> bool:
        """Is `one` later than `other`? Of two on different branches, by their authors' times."""
        if NOT_YET in (one, other) or one == other:
            return one == NOT_YET != other
        if self.ancestors[other] & self.bits[one]:
            return False
        return bool(self.ancestors[one] & self.bits[other]) or self.times[one] > self.times[other]

    @cached_property
    def _lines(self) -> dict[str, str]:
        """claim -> the commit that wrote its line in rules.lock."""
        found, commit = {}, ""
        for line in _git(self.root, "blame", "--porcelain", "--", rules.LOCK).decode().splitlines():
            if re.match(r"[0-9a-f]{40} \d", line):
                commit = line[:40]
            elif line.startswith("\t") and line.split():
                found[line.split()[0]] = commit if commit in self.bits else NOT_YET
        return found

    def written(self, claim: str) -> str:
        """The commit that wrote a claim's line; empty where git knows of none."""
        commit = self._lines.get(claim, "") if self.bits else ""
        return "" if commit == NOT_YET else commit

    @cached_property
    def _birth(self) -> str:
        """The commit that rules.lock began with; empty where it is not committed."""
        log = _git(self.root, "log", "--reverse", "--diff-filter=A", "--format=%H", "--", rules.LOCK).decode()
        return next(iter(log.split()), "")

    @cached_property
    def _added(self) -> dict[str, list[tuple[str, str, str]]]:
        """measure and name of a run without its digests -> path, blob and commit of all that was ever added of it."""
        words = (
            "-c",
            "core.quotepath=off",
            "log",
            "--full-history",
            "--no-renames",
            "--diff-filter=A",
            "--raw",
            "--no-abbrev",
            "--relative",
            "--format=@%H",
        )
        found: dict[str, list[tuple[str, str, str]]] = {}
        commit = ""
        for line in _git(self.root, *words, "--", MEASUREMENTS).decode().splitlines():
            if line.startswith("@"):
                commit = line[1:]
            elif line:
                meta, path = line.split("\t")
                found.setdefault(STEM.sub("", path), []).append((path, meta.split()[3], commit))
        return found

    def _read_settings(self, files: Iterable[str]) -> None:
        """Learn the settings of all that was ever added of the runs of these files, but for the files themselves."""
        others = {blob for file in files for path, blob, _ in self._added.get(STEM.sub("", file), []) if path != file}
        blobs = sorted(others - self._settings.keys())
        self._settings.update(dict.fromkeys(blobs, ""))
        out, at = _git(self.root, "cat-file", "--batch", given="\n".join(blobs)) if blobs else b"", 0
        while at < len(out):
            blob, _, *size = out[at : (end := out.index(b"\n", at))].split()
            at = end + 1
            if size:  # else git lacks it
                said = SETTINGS.search(out, at, at + int(size[0]))
                self._settings[blob.decode()] = said.group(1).decode() if said else ""
                at += int(size[0]) + 1

    def _first(self, file: str, settings: str) -> str:
        """The earliest commit that added a measurement of these settings where this file lies, under any recipe."""
        several = self._added.get(STEM.sub("", file), [])
        earliest = NOT_YET
        for commit in (c for path, blob, c in several if path == file or self._settings[blob] == settings):
            earliest = commit if self.after(earliest, commit) else earliest
        return earliest

    def younger(self, claim: str, line: rules.Line | None, where: str, files: Iterable[tuple[str, str]]) -> bool | None:
        """Is a claim's rule younger than the oldest of these measurements (file, settings)? None: git does not say.

        `where`: the scale or overlay that they are of. Before rules.lock there is no history of rules, but its word.
        """
        if not self.bits or line is None or not self._birth or claim not in self._lines:
            return None
        rule = line.since or self._lines[claim]
        if rule != NOT_YET and rule not in self.bits:
            return None
        measured = list(files)
        self._read_settings(file for file, _ in measured)
        firsts = [self._first(file, settings) for file, settings in measured]
        if rule == self._birth:
            return where in line.older and any(not self.after(first, rule) for first in firsts)
        return any(self.after(rule, first) for first in firsts)
