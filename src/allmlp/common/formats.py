"""The forms of the files that this project writes, so that it reads what earlier releases wrote and refuses newer ones.

A file's `format` is the number of its form. Form 1 is not written, so what the first releases made keeps its bytes and
digests. Whoever changes a form writes 2 from then on, reads both, and keeps a file of form 1 in tests/artifacts.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allmlp.common.errors import UserError

FORMATS = {  # kind -> the newest form that this code reads
    "bundle": 2,
    "checkpoint": 1,  # run.json and manifest.json beside the weights
    "claims": 1,
    "corpora": 1,  # corpora.lock and corpora.local.lock: an entry each
    "exhibits": 1,  # index.json of figures and tables
    "measurement": 1,  # a run's own file, and a part of the store
    "plan": 1,  # of a bundle
    "power": 1,
    "selection": 1,
    "sets": 1,
    "state": 1,  # of a training
    "summary": 1,  # an answer of a chat model
    "tokens": 1,  # and images and pairs: their meta.json
}


class NewerError(UserError):
    """A newer release wrote this: nothing may take its place."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. ValueError, never RecursionError, for other text."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def check_format(kind: str, where: object, content: Any) -> Any:
    """The content without its `format`. UserError, beginning with `where`, if that is newer than this code."""
    found = content.get("format", 1) if isinstance(content, Mapping) else 1
    if not isinstance(found, int) or found > FORMATS[kind]:
        raise NewerError(
            f"{where}: is of format {found!r}, this code reads {kind} up to {FORMATS[kind]}. A newer release wrote it: "
            "update with `git pull`, or `git checkout` the state that it belongs to."
        )
    if not isinstance(content, Mapping):
        return content  # its reader says what is wrong
    return {key: value for key, value in content.items() if key != "format"}


def read_json(path: Path, way_out: str = "Delete it and run again.") -> Any:
    """Read a JSON file. UserError with its path if it is missing or broken."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except ValueError as error:  # of the letters, too
        raise UserError(f"{path}: is not JSON ({error}). {way_out}") from error


def read(kind: str, path: Path, way_out: str = "Delete it and run again.") -> Any:
    """The same for a file with a form: its content without its `format`. NewerError for a newer one."""
    return check_format(kind, path, read_json(path, way_out))
