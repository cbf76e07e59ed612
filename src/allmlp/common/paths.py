"""Where things lie: the project's own files, and the directory that results are made in.

The two differ only while `make reproduce` works: it reads this project's files and makes its results elsewhere.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allmlp.common.atomic import write_atomically as write_atomically  # what writes results imports it from here
from allmlp.common.errors import UserError

DIRECTORY = "ALLMLP_DIRECTORY"  # environment variable: where results/, work/ and logs/ are made, if not in the project
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
CLAIMS, REPORT = Path("results/claims.json"), Path("results/report.html")
SELECTED = Path("results/selected.json")  # which measurements the last mile reads
TOKENIZERS = Path("results/tokenizers")  # of published models: what their texts need of results/tokens
PACKAGE = Path(__file__).resolve().parents[1]  # src/allmlp of the code that runs
PROJECT = "ALLMLP_PROJECT"  # environment variable: where params.yaml and the Snakefile lie, if not here or above


def project() -> Path:
    """The folder that holds params.yaml and the Snakefile: this one or the nearest above it."""
    if os.environ.get(PROJECT):
        return Path(os.environ[PROJECT])
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() and (folder / "Snakefile").is_file():
            return folder
    raise UserError(f"{here}: no params.yaml and Snakefile here or above. Run this inside the allmlp project.")


def foreign_sources() -> str:
    """Which code runs, if it is not that of the project's `src`, and the way out; empty if it is, or there is none.

    Else the edits of this project would change nothing, and what other code made would be recorded as made by them.
    """
    own = project() / "src" / PACKAGE.name
    if not own.is_dir() or own.samefile(PACKAGE):
        return ""
    return (
        f"{own} is not the code that runs: that is {PACKAGE}. "
        "Call `make install` here and use .venv/bin, or `pip install --no-deps -e .` in the active environment."
    )


def directory() -> Path:
    """The folder that results/, work/ and logs/ are made in."""
    chosen = os.environ.get(DIRECTORY)
    return Path(chosen) if chosen else project()


def enter(command: str) -> None:
    """Change to that folder. UserError if the code that runs is not the project's, but for `doctor`, which says so."""
    if command != "doctor" and (foreign := foreign_sources()):
        raise UserError(foreign)
    os.chdir(directory())


def canonical(value: Any) -> str:
    """Canonical JSON, the same for equal values: the text behind digests."""
    return _CANONICAL.encode(value)


def digest(value: Any, length: int = 8) -> str:
    """The first `length` hexadecimal digits of the sha256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def json_lines(content: Any) -> str:
    """JSON with a line for each entry of the first five levels, so that git shows what changed."""
    return "".join(_lines(content)) + "\n"


def _lines(value: Any, depth: int = 0) -> Iterator[str]:
    """JSON, with a line for each entry of the first five levels."""
    if depth == 5 or not value or not isinstance(value, dict | list):
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    yield "{" if isinstance(value, dict) else "["
    for number, (key, entry) in enumerate(zip(keys, value.values() if isinstance(value, dict) else value, strict=True)):
        yield f"{',' if number else ''}\n{key}"
        yield from _lines(entry, depth + 1)
    yield "\n}" if isinstance(value, dict) else "\n]"
