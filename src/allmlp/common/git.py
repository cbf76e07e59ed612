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
