"""`allmlp diff A B`: what two states say otherwise: parameters, verdicts, and values beyond their intervals."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from allmlp import artifacts, paths
from allmlp.aligning import aligned
from allmlp.errors import UserError
from allmlp.paths import CLAIMS
from allmlp.report.render import templates
from allmlp.states import repository

Rows = list[tuple[str, ...]]
HEADS = {
    "parameters": ("parameter", "before", "after"),
    "verdicts": ("claim", "before", "after"),
    "values beyond their interval": ("claim", "before", "after"),
}


def compare(before: str, after: str) -> dict[str, Rows]:
    """Title -> rows of each of HEADS; both states by commit, tag or branch."""
    states = [repository.commit(name) for name in (before, after)]
    old, new = (dict(_parameters(state)) for state in states)
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    then, now = map(_claims, states)
    both = sorted(then.keys() & now.keys())
    every = sorted(then.keys() | now.keys())
    verdicts = [(claim, _verdict(then.get(claim)), _verdict(now.get(claim))) for claim in every]
    return {
        "parameters": [(key, _text(old.get(key)), _text(new.get(key))) for key in changed],
        "verdicts": [row for row in verdicts if row[1] != row[2]],
        "values beyond their interval": [
            (claim, _value(then[claim]), _value(now[claim])) for claim in both if _moved(then[claim], now[claim])
        ],
    }


def _parameters(state: str) -> Iterator[tuple[str, Any]]:
    """Every single value of params.yaml and config/ of a state, by file and path."""
    files = repository.git("ls-tree", "-r", "--name-only", state, "params.yaml", "config").split()
    for file in files:
        yield from _flat(yaml.safe_load(repository.content(state, Path(file)) or b""), file)


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _flat(entry, f"{path} {key}")
    else:
        yield path, value


def _claims(state: str) -> dict[str, dict[str, Any]]:
    content = repository.content(state, CLAIMS)
    if content is None:
        raise UserError(f"{state[:12]}: has no {CLAIMS}.")
    return {entry["id"]: entry for entry in artifacts.known("claims", CLAIMS, artifacts.parsed(content))["claims"]}


def _moved(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Is a value outside of the other state's interval?"""
    pairs = ((then, now), (now, then))
    both = [(one, other["value"]) for one, other in pairs if None not in (one.get("low"), one.get("high"))]
    return any(value is not None and not one["low"] <= value <= one["high"] for one, value in both)


def _verdict(entry: dict[str, Any] | None) -> str:
    return f"{entry['verdict']}, {entry['scale'] or 'no scale'}" if entry else "no such claim"


def _value(entry: dict[str, Any]) -> str:
    if entry.get("low") is None:
        return _text(entry.get("value"))
    return f"{entry['value']:.4g} [{entry['low']:.4g}, {entry['high']:.4g}]"


def _text(value: Any) -> str:
    return "none" if value is None else json.dumps(value)


def show(before: str, after: str, page: Path | None) -> None:
    """Print the tables; with `page`, write them as HTML too."""
    found = compare(before, after)
    for title, rows in found.items():
        print("\n".join([f"{title}: {len(rows)}", *(aligned([HEADS[title], *rows], left=3) if rows else [])]))
    if page:
        style = (paths.project() / "paper/style.css").read_text(encoding="utf-8")
        template = templates().get_template("states.html.j2")
        paths.write_whole(page, template.render(before=before, after=after, found=found, heads=HEADS, style=style))
        print(page)
