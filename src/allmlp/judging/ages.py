"""Which came first, a claim's rule or its results: read from git's history, which measuring again does not change.

A rule dates from the commit that wrote its line in rules.lock. A result dates from the first commit with a measurement
of the same run settings and measure, under any recipe. Uncommitted counts as younger than committed. A rule and results
of one commit are equally old. None: git does not know.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from allmlp.common import git
from allmlp.judging import rule_digests
from allmlp.measurements import store
from allmlp.measurements.store import STORE

NOT_YET = "not committed"


def head(root: Path) -> str:
    """The commit that is checked out; empty without one."""
    return git.output(root, "rev-parse", "HEAD").decode().strip()


@dataclass(frozen=True)
class History:
    """The history of HEAD. `ancestors`: commit -> bits of the commit and all its ancestors; `times`: author times."""

    root: Path
    ancestors: dict[str, int]
    bits: dict[str, int]
    times: dict[str, int]
    _firsts: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def read(cls, root: Path) -> "History":
        """The history of the repository around a folder; empty without a repository, or with a shallow one."""
        ancestors: dict[str, int] = {}
        bits: dict[str, int] = {}
        times: dict[str, int] = {}
        if not git.missing_history(root):
            listed = git.lines(root, "log", "--reverse", "--topo-order", "--format=%H %at %P")
            for number, line in enumerate(listed):
                commit, time, *parents = line.split()
                bits[commit], times[commit] = 1 << number, int(time)
                ancestors[commit] = 1 << number
                for parent in parents:
                    ancestors[commit] |= ancestors[parent]
        return cls(root, ancestors, bits, times)

    def is_later(self, one: str, other: str) -> bool:
        """Is `one` later than `other`? On different branches the author times decide."""
        if NOT_YET in (one, other) or one == other:
            return one == NOT_YET != other
        if self.ancestors[other] & self.bits[one]:
            return False
        return bool(self.ancestors[one] & self.bits[other]) or self.times[one] > self.times[other]

    @cached_property
    def _lines(self) -> dict[str, str]:
        """claim -> the commit that wrote its line in rules.lock."""
        found, commit = {}, ""
        for line in git.lines(self.root, "blame", "--porcelain", "--", rule_digests.LOCK):
            if re.match(r"[0-9a-f]{40} \d", line):
                commit = line[:40]
            elif line.startswith("\t") and line.split():
                found[line.split()[0]] = commit if commit in self.bits else NOT_YET
        return found

    def rule_commit(self, claim: str) -> str:
        """The commit that wrote a claim's line; empty if unknown."""
        commit = self._lines.get(claim, "") if self.bits else ""
        return "" if commit == NOT_YET else commit

    @cached_property
    def _first_commit(self) -> str:
        """The first commit with a rules.lock; empty if it is not committed."""
        log = git.lines(self.root, "log", "--reverse", "--diff-filter=A", "--format=%H", "--", rule_digests.LOCK)
        return next(iter(log), "")

    @cached_property
    def _adding_commits(self) -> dict[Path, list[str]]:
        """The commits that added each file of the store: several if two branches did."""
        words = ("-c", "core.quotepath=off", "log", "--full-history", "--no-renames", "--diff-filter=A", "--name-only")
        found: dict[Path, list[str]] = {}
        commit = ""
        for line in git.lines(self.root, *words, "--relative", "--format=@%H", "--", str(STORE)):
            if line.startswith("@"):
                commit = line[1:]
            elif line:
                found.setdefault(Path(line), []).append(commit)
        return found

    def first_commits(self, study: str, measure: str) -> dict[str, str]:
        """settings -> the earliest commit that added a measurement of them, under any recipe.

        A merged part records this commit. For others the commit that added the part counts.
        """
        if (study, measure) not in self._firsts:
            self._firsts[study, measure] = self._find_earliest(study, measure)
        return self._firsts[study, measure]

    def _find_earliest(self, study: str, measure: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for one, place in store.read_measure(study, measure).every:
            added = self._adding_commits.get(STORE / study / measure / place.part.name, [])
            for commit in [one.since] if one.since in self.bits else added or [NOT_YET]:
                earlier = self.is_later(found.get(one.settings, NOT_YET), commit)
                found[one.settings] = commit if earlier else found.get(one.settings, NOT_YET)
        return found

    def commits_to_record(self, study: str, measure: str) -> dict[str, str]:
        """The same, to be recorded in a merged part: without uncommitted ones; without a history, what was recorded
        before."""
        known = {one.settings: one.since for one, _ in store.read_measure(study, measure).every if one.since}
        firsts = self.first_commits(study, measure) if self.bits else {}
        return known | {settings: commit for settings, commit in firsts.items() if commit != NOT_YET}

    def is_younger(self, claim: str, line: rule_digests.Line | None, where: str, firsts: Iterable[str]) -> bool | None:
        """Is a claim's rule younger than the oldest of these measurements, by their first commits? None: unknown.

        `where`: the scale or overlay of the measurements. For rules older than rules.lock, the file itself says it.
        """
        if not self.bits or line is None or not self._first_commit or claim not in self._lines:
            return None
        rule = line.since or self._lines[claim]
        if rule != NOT_YET and rule not in self.bits:
            return None
        if rule == self._first_commit:
            return where in line.older and any(not self.is_later(first, rule) for first in firsts)
        return any(self.is_later(rule, first) for first in firsts)
