"""`allmlp moved STATE`: the verdicts that moved since a state, and why."""

import json
from pathlib import Path
from typing import Any

import yaml

from allmlp import artifacts, paths, studies
from allmlp.aligning import aligned
from allmlp.errors import UserError
from allmlp.paths import CLAIMS
from allmlp.report.moved import MOVED, State, moved
from allmlp.states import repository

HEADS = ("claim", "part", "before", "after", "why")


def read(state: str | None) -> State:
    """The claims of a commit, tag or branch; of the working folder without one."""
    ledgers = {study: Path("src/allmlp/studies") / study / "claims.yaml" for study in studies.STUDIES}
    rows: dict[str, dict[str, Any]] = {}
    for file in ledgers.values():
        rows |= {row["id"]: row for row in yaml.safe_load(_content(state, file) or b"") or ()}
    if (content := _content(state, CLAIMS)) is None:
        raise UserError(f"{state or 'the working folder'}: has no {CLAIMS}.")
    known = artifacts.known("claims", CLAIMS, artifacts.parsed(content))
    return State(rows, {entry["id"]: entry for entry in known["claims"]})


def _content(state: str | None, file: Path) -> bytes | None:
    if state is not None:
        return repository.content(state, file)
    path = paths.project() / file
    return path.read_bytes() if path.is_file() else None


def show(before: str, after: str | None, write: bool) -> None:
    """Print the table; with `write`, write results/moved.json for the report."""
    states = [None if name is None else repository.commit(name) for name in (before, after)]
    found = moved(*map(read, states))
    if write:
        paths.write_whole(MOVED, json.dumps({"since": states[0], **found}, indent=1) + "\n")
    rows = [
        (row["id"], row["part"], _said(row["then"]), _said(row["now"]), "; ".join(row["why"])) for row in found["rows"]
    ]
    claims = len({row["id"] for row in found["rows"]})
    print("\n".join(aligned([HEADS, *rows], left=5) if rows else []))
    print(f"{claims} of {found['of']} claims moved, or parts of them; {found['new']} are new")


def _said(verdict: dict[str, Any]) -> str:
    return f"{verdict['verdict']}, {verdict['scale'] or 'no scale'}"
