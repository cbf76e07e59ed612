"""What git says of a folder."""

import subprocess
from pathlib import Path


def output(folder: Path, *words: str, given: str = "") -> bytes:
    """The output of git, run in a folder with this input; empty without git, or where it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, input=given.encode(), capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return b""
    return done.stdout


def lines(folder: Path, *words: str, given: str = "") -> list[str]:
    """The same as lines of text."""
    return output(folder, *words, given=given).decode().splitlines()


def missing_history(folder: Path) -> str:
    """Why the history around a folder cannot be asked, with the way to it; empty if it can."""
    answer = output(folder, "rev-parse", "--is-shallow-repository").strip()
    if answer == b"false":
        return ""
    return "cut off in this clone; `git fetch --unshallow` brings it" if answer == b"true" else "no git repository"
