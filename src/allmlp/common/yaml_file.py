"""YAML with the file and line of each value, for error messages. Bombs are refused before they are values."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from allmlp.common.errors import UserError

Place = tuple[str | int, ...]
DISCRIMINATORS = ("source", "kind")  # a mapping that changes one of these keys replaces the old one, and is not merged
LARGEST = 1 << 20  # characters of a file; the project's own have less than 60,000
DEEPEST = 100  # levels of nesting; libyaml overflows its stack at some ten thousand
MOST = 100_000  # values, those of an alias counted wherever it stands


@dataclass
class LocatedYaml:
    """A tree of plain values, and the place of each."""

    value: Any
    lines: dict[Place, tuple[str, int]] = field(default_factory=dict)

    def where(self, place: Place) -> str:
        """`params.yaml:17` for the deepest part of `place` that is in the files."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                file, line = self.lines[place[:length]]
                return f"{file}:{line}"
        return "params.yaml"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's is ten times as fast
    """SafeLoader that reads 2e-3 as a number (YAML 1.1 would make it a string)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _lines(node: yaml.Node, file: str, place: Place, lines: dict[Place, tuple[str, int]]) -> None:
    lines.setdefault(place, (file, node.start_mark.line + 1))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise UserError(f"{file}:{key.start_mark.line + 1}: key {key.value!r} stands twice. Keep one of them.")
            seen.add(key.value)
            lines[(*place, key.value)] = (file, key.start_mark.line + 1)
            _lines(value, file, (*place, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            _lines(value, file, (*place, position), lines)


def parse_plain(text: str) -> Any:
    """The value of a YAML text of the project itself."""
    return _Loader(text).get_single_data()


def _text(path: Path, file: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error


@cache
def _parse_located(text: str, file: str) -> LocatedYaml:
    """Cached, since a plan lays the same files under several overlays. Callers must not change the values."""
    node, value = _parse_nodes(text, file)
    if not isinstance(value, dict):
        raise UserError(f"{file}:1: must hold keys and values, and holds {type(value).__name__}")
    located = LocatedYaml(value, {(): (file, 1)})
    if node is not None:
        _lines(node, file, (), located.lines)
    return located


def _parse_nodes(text: str, file: str) -> tuple[yaml.Node | None, Any]:
    if len(text) > LARGEST:
        raise UserError(f"{file}: has {len(text):,} characters, more than {LARGEST:,}: these are no parameters.")
    try:
        _refuse_bombs(text, file)
        loader = _Loader(text)
        node = loader.get_single_node()
        return node, loader.construct_document(node) if node is not None else {}
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        tab = "\t" in "".join(text.splitlines()[line - 1 : line])
        way = ". A tab stands in this line: indent with spaces." if tab else ""
        raise UserError(f"{file}:{line}: is not YAML: {error.problem}{way}") from error
    except yaml.reader.ReaderError as error:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)  # libyaml's own position counts bytes
        line, character = (text.count("\n", 0, found.start()) + 1, found[0]) if found else (1, chr(error.character))
        raise UserError(f"{file}:{line}: is not YAML: holds the character {character!r}. Remove it.") from error
    except (ValueError, OverflowError) as error:  # text that looks like a date or a number but is not valid
        raise UserError(f"{file}: is not YAML: {error}") from error


def _refuse_bombs(text: str, file: str) -> None:
    """Read the text as events, which need no stack, and refuse what would be too deep or too much as values."""
    sizes: dict[str, int] = {}  # anchor -> values
    open_: list[tuple[str | None, int]] = []  # collections around: anchor, values before it
    total = 0
    for event in yaml.parse(text, Loader=_Loader):
        where = f"{file}:{event.start_mark.line + 1 if event.start_mark else 1}"
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, total))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            sizes |= {anchor: total - before} if anchor else {}
        elif isinstance(event, yaml.AliasEvent) and any(anchor == event.anchor for anchor, _ in open_):
            raise UserError(f"{where}: *{event.anchor} stands within itself, so it has no end. Write its value there.")
        if isinstance(event, yaml.NodeEvent):
            total += sizes.get(event.anchor or "", 1) if isinstance(event, yaml.AliasEvent) else 1
        if len(open_) > DEEPEST:
            raise UserError(f"{where}: is nested more than {DEEPEST} levels deep. No parameters are: write it flatter.")
        if total > MOST:
            raise UserError(f"{where}: more than {MOST:,} values so far, those of aliases included. Use fewer aliases.")


def records(text: str, file: str, key: str) -> LocatedYaml:
    """A YAML list of keys and values, as a mapping from the text that each has at `key`, which must differ."""
    node, value = _parse_nodes(text, file)
    if not isinstance(value, list) or not isinstance(node, yaml.SequenceNode):
        raise UserError(f"{file}:1: must hold a list, `[]` if there is nothing to list, and holds {value!r:.40}")
    located = LocatedYaml({}, {(): (file, 1)})
    for item, of in zip(value, node.value, strict=True):
        where = f"{file}:{of.start_mark.line + 1}"
        name = item.get(key) if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise UserError(f"{where}: must hold keys and values, with a text at '{key}', and holds {item!r:.40}")
        if name in located.value:
            raise UserError(f"{where}: {key} {name!r} stands twice, first in {located.where((name,))}. Change one.")
        located.value[name] = item
        _lines(of, file, (name,), located.lines)
    return located


def read(path: Path, shown: str | None = None) -> LocatedYaml:
    """Read one YAML file. `shown`: its name in errors."""
    file = shown or path.name
    return _parse_located(_text(path, file), file)


def lookup(node: Any, place: Place) -> Any:
    """The value at a place of a tree."""
    for key in place:
        node = node[key]
    return node


def merge(base: LocatedYaml, over: LocatedYaml) -> LocatedYaml:
    """`over` laid upon `base`: mappings merge, everything else is replaced. The lines of `over` come last."""
    before = {place: line for place, line in base.lines.items() if place not in over.lines}
    return LocatedYaml(_merge(base.value, over.value), before | over.lines)


def restrict_keys(over: LocatedYaml, base: LocatedYaml) -> LocatedYaml:
    """The keys of `over` that `base` has too, at every depth."""
    return LocatedYaml(_restrict_keys(over.value, base.value), over.lines)


def _restrict_keys(over: Any, base: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {key: _restrict_keys(value, base[key]) for key, value in over.items() if key in base}


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    if any(key in over and key in base and over[key] != base[key] for key in DISCRIMINATORS):
        return over
    return base | {key: _merge(base[key], value) if key in base else value for key, value in over.items()}
