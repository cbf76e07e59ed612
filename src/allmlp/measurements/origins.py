"""The origin of a training: the sources that did it, by git's tree of `src/`.

A commit's name is lost when history is rewritten; the tree is a digest of the content alone. It is computed from the
files, without git. The record of a training stands in the column `versions` of its measure `cost`:

    src <tree> <state>      the sources of each process that trained it, in turn, and how they stood in git
    recipes <digest> ...    of the sources behind each RECIPE in its id, see `allmlp.common.recipes`
    commit <commit>[-dirty] of earlier releases, in place of both
"""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from allmlp.common import git, recipes

SOURCES = recipes.PACKAGE.parent
CLEAN, CHANGED, NO_REPOSITORY = "clean", "changed", "no repository"
NO_RECORD = "src unknown"  # of the part of a training whose process left no record
DIRTY = "-dirty"  # ends a commit of earlier releases with changed files
MADE_BY = "sources.json"  # in the work folder of a training under way: the sources of its processes, in turn
ABSENT = ("__pycache__", ".egg-info")  # ends of names that git ignores


def tree(folder: Path) -> str:
    """Git's tree of a folder with the files as they are now: 40 hexadecimal digits, empty for a folder without files.

    Hidden files and those that git ignores here are left out.
    """
    entries = []
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name.endswith(ABSENT):
            continue
        if path.is_symlink():
            mode, digest = "120000", _digest("blob", os.readlink(path).encode())
        elif path.is_dir():
            mode, digest = "40000", tree(path)
        else:
            executable = path.stat().st_mode & stat.S_IXUSR
            mode, digest = "100755" if executable else "100644", _digest("blob", path.read_bytes())
        if digest:
            order = path.name + "/" * (mode == "40000")
            entries.append((order.encode(), f"{mode} {path.name}\0".encode() + bytes.fromhex(digest)))
    return _digest("tree", b"".join(entry for _, entry in sorted(entries))) if entries else ""


def _digest(kind: str, content: bytes) -> str:
    """The digest of git's object of this kind."""
    return sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def head_tree(root: Path) -> str:
    """The tree of `src/` in HEAD; empty without a repository of this project."""
    return git.output(root, "rev-parse", "--verify", "--quiet", f"HEAD:./{SOURCES.name}").decode().strip()


@cache
def process_sources() -> str:
    """The sources of this process, `src <tree> <state>`, as they were when it first asked."""
    if SOURCES.name != "src":  # installed elsewhere, beside other packages
        return NO_RECORD
    now, then = tree(SOURCES), head_tree(SOURCES.parent)
    return f"src {now} {NO_REPOSITORY if not then else CLEAN if then == now else CHANGED}"


def record(made: Sequence[str], modules: Iterable[str]) -> str:
    """The record of a training: `made` by these sources in turn, and the modules whose RECIPE its id holds.

    Modules outside this package, of a user's own architecture say, have no digest.
    """
    digests = " ".join(recipes.fingerprint(module) for module in modules if module.startswith("allmlp."))
    return ", ".join([*made, f"recipes {digests}"])


class ProcessSources(NamedTuple):
    """The sources of one process: a tree or, of earlier releases, a commit; both are empty if it left no record."""

    tree: str = ""
    commit: str = ""
    state: str = ""


@dataclass(frozen=True)
class Origin:
    """What a record says: the sources in turn, and the digests of recipes."""

    made: tuple[ProcessSources, ...]
    recipes: tuple[str, ...] = ()


def read(versions: str) -> Origin:
    """The origin in a text of `versions`.

    >>> read("Python 3.11, torch 2.13, commit 1a2b3c4-dirty").made
    (ProcessSources(tree='', commit='1a2b3c4', state='changed'),)
    """
    made, digests = [], []
    for part in versions.split(", "):
        match part.split(" "):
            case ["src", "unknown"] | ["commit", "unknown"]:
                made.append(ProcessSources())
            case ["src", name, *state]:
                made.append(ProcessSources(tree=name, state=" ".join(state)))
            case ["commit", name]:
                made.append(
                    ProcessSources(commit=name.removesuffix(DIRTY), state=CHANGED if name.endswith(DIRTY) else CLEAN)
                )
            case ["recipes", *found]:
                digests += found
    return Origin(tuple(made), tuple(digests))


def parse_sources(versions: str) -> list[str]:
    """The sources in a text of `versions`, as they stand there."""
    return [part for part in versions.split(", ") if part.startswith(("src ", "commit "))] or [NO_RECORD]


def software(versions: str) -> str:
    """A text of `versions` without the origin: Python, torch and NumPy."""
    return ", ".join(part for part in versions.split(", ") if not part.startswith(("src ", "recipes ", "commit ")))


@dataclass(frozen=True)
class Repository:
    """The history of HEAD. `trees`: tree of `src/` -> its commits, the newest first; `commits`: all commits."""

    root: Path
    trees: dict[str, list[str]]
    commits: frozenset[str]
    _full: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def read(cls, root: Path) -> "Repository | None":
        """The one around the project's folder; None without one, or where its history is cut off."""
        if not head_tree(root) or git.missing_history(root):
            return None
        commits = git.lines(root, "rev-list", "HEAD")
        asked = "".join(f"{commit}:./{SOURCES.name}\n" for commit in commits)
        trees: dict[str, list[str]] = {}
        for commit, found in zip(commits, git.lines(root, "cat-file", "--batch-check", given=asked), strict=True):
            trees.setdefault(found.split()[0], []).append(commit)  # of a commit without src/, no tree
        return cls(root, trees, frozenset(commits))

    def commit(self, named: str) -> str:
        """The commit of this history that a name stands for, in full; empty if there is none."""
        if named not in self._full:
            words = ("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
            self._full[named] = git.output(self.root, *words).decode().strip()
        return self._full[named] if self._full[named] in self.commits else ""

    def commits_with(self, made: ProcessSources) -> list[str]:
        """The commits that hold the sources of a process; none if they are unknown or had changes."""
        if made.tree:
            return self.trees.get(made.tree, [])
        found = self.commit(made.commit) if made.commit and made.state == CLEAN else ""
        return [found] if found else []

    def has_sources(self, origin: Origin) -> bool:
        """Can all sources of a training be looked up here?"""
        return bool(origin.made) and all(map(self.commits_with, origin.made))
