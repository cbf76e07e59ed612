"""`allmlp diff A B`: what two states say otherwise: parameters, verdicts with the facts that differ, and values beyond
their intervals. With `write`, the verdicts are results/moved.json, which the report shows.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.paths import CLAIMS
from allmlp.common.terminal import align_columns
from allmlp.judging.state_comparison import MOVED, State, moved_verdicts
from allmlp.pipeline.states import repository
from allmlp.plan import results_folder
from allmlp.report.render import templates
from allmlp.spec import catalogue

Rows = list[tuple[str, ...]]
Named = str | Path | None  # a commit, a folder of a user's own results, or the working folder
HEADS = {
    "parameters": ("parameter", "before", "after"),
    "verdicts": ("claim", "part", "before", "after", "why"),
    "values beyond their interval": ("claim", "before", "after"),
}


def compare(before: str, after: str | None) -> tuple[dict[str, Rows], dict[str, Any]]:
    """Title -> rows of each of HEADS, and the content of results/moved.json. States by commit, tag or branch, or a
    folder of own/; without `after` the working folder."""
    states = [_find_state(name) for name in (before, after)]
    old, new = (dict(_parameters(state)) for state in states)
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    then, now = map(read_claims, states)
    moved = moved_verdicts(then, now)
    both = sorted(then.entries.keys() & now.entries.keys())
    values = [(claim, then.entries[claim], now.entries[claim]) for claim in both]
    tables: dict[str, Rows] = {
        "parameters": [(key, _text(old.get(key)), _text(new.get(key))) for key in changed],
        "verdicts": [
            *(
                (row["id"], row["part"], *map(_verdict, (row["then"], row["now"])), "; ".join(row["why"]))
                for row in moved["rows"]
            ),
            *([] if any(isinstance(state, Path) for state in states) else _unshared_claims(then.entries, now.entries)),
        ],
        "values beyond their interval": [(claim, _value(a), _value(b)) for claim, a, b in values if _has_moved(a, b)],
    }
    return tables, {"since": states[0], **moved}


def _find_state(name: str | None) -> Named:
    if name is None:
        return None
    folder = paths.project() / name
    return folder if (folder / CLAIMS).is_file() else repository.commit(name)


def _unshared_claims(then: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for claim in sorted(then.keys() ^ now.keys()):
        yield claim, "", _verdict(then.get(claim)), _verdict(now.get(claim)), ""


def _parameters(state: Named) -> Iterator[tuple[str, Any]]:
    """Every single value of params.yaml and config/ of a state, by file and path; of own results, of the files laid
    over these, too."""
    listing = ("ls-tree", "-r", "--name-only", state) if isinstance(state, str) else ("ls-files",)
    files = [file for file in repository.git(*listing, "params.yaml", "config").split() if file.endswith(".yaml")]
    for file in [*files, *(results_folder.read_owner(state) if isinstance(state, Path) else ())]:
        yield from _flatten(yaml.safe_load(_content(state, Path(file)) or b""), file)


def _content(state: Named, file: Path) -> bytes | None:
    if isinstance(state, str):
        return repository.content(state, file)
    path = (state if state and file == CLAIMS else paths.project()) / file
    return path.read_bytes() if path.is_file() else None


def _flatten(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _flatten(entry, f"{path} {key}")
    else:
        yield path, value


def read_claims(state: Named) -> State:
    """The claims of a commit, tag or branch; of the working folder without one; of own results, those of the studies
    that these speak of."""
    ledgers = (Path("src/allmlp/studies") / study / "claims.yaml" for study in catalogue.STUDIES)
    rows = [row for file in ledgers for row in yaml.safe_load(_content(state, file) or b"") or ()]
    if (content := _content(state, CLAIMS)) is None:
        raise UserError(f"{str(state)[:12] if state else 'the working folder'}: has no {CLAIMS}.")
    claims = formats.check_format("claims", CLAIMS, formats.parse_json(content))["claims"]
    if isinstance(state, Path):
        judged = {entry["study"] for entry in claims if entry["at"]}
        claims = [entry for entry in claims if entry["study"] in judged]
    return State({row["id"]: row for row in rows}, {entry["id"]: entry for entry in claims})


def _has_moved(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Is a value outside of the other state's interval?"""
    pairs = ((then, now), (now, then))
    both = [(one, other.get("value")) for one, other in pairs if None not in (one.get("low"), one.get("high"))]
    return any(value is not None and not one["low"] <= value <= one["high"] for one, value in both)


def _verdict(entry: dict[str, Any] | None) -> str:
    return f"{entry['verdict']}, {entry['scale'] or 'no scale'}" if entry else "no such claim"


def _value(entry: dict[str, Any]) -> str:
    if entry.get("low") is None:
        return _text(entry.get("value"))
    return f"{entry['value']:.4g} [{entry['low']:.4g}, {entry['high']:.4g}]"


def _text(value: Any) -> str:
    return "none" if value is None else json.dumps(value)


def show(before: str, after: str | None, page: Path | None, write: bool) -> None:
    """Print the tables; with `page`, write them as HTML too; with `write`, results/moved.json."""
    found, moved = compare(before, after)
    for title, rows in found.items():
        left = len(HEADS[title])
        print("\n".join([f"{title}: {len(rows)}", *(align_columns([HEADS[title], *rows], left=left) if rows else [])]))
    claims = len({row["id"] for row in moved["rows"]})
    print(f"{claims} of {moved['of']} claims moved, or parts of them; {moved['new']} are new")
    if write:
        paths.write_atomically(MOVED, json.dumps(moved, indent=1) + "\n")
        paths.REPORT.unlink(missing_ok=True)  # DVC makes it again only if something that it reads has changed
        print("`allmlp report` makes the page with this table")
    if page:
        style = (paths.project() / "paper/style.css").read_text(encoding="utf-8")
        template = templates().get_template("states.html.j2")
        states = {"before": before, "after": after or "the working folder"}
        paths.write_atomically(page, template.render(**states, found=found, heads=HEADS, style=style))
        print(page)
