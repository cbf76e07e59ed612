"""What the commands of states ask git."""

import subprocess
from pathlib import Path

from allmlp.common import paths
from allmlp.common.errors import UserError


def git(*words: str) -> str:
    """What git prints. UserError with its own words where it fails."""
    done = subprocess.run(("git", *words), cwd=paths.project(), capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"git {' '.join(words[:2])}: {done.stderr.strip()}")
    return done.stdout


def content(state: str, file: Path) -> bytes | None:
    """A file of a state; None where that has no such file."""
    words = ("git", "show", f"{state}:{file.as_posix()}")
    done = subprocess.run(words, cwd=paths.project(), capture_output=True)
    return done.stdout if done.returncode == 0 else None


def commit(state: str) -> str:
    """The commit that a name stands for."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{state}^{{commit}}").strip()
    except UserError:
        raise UserError(f"{state}: no state of that name. `allmlp pins` and `git log` list them.") from None
