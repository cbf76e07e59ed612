"""The packages that pyproject.toml names, and those that they bring with them."""

import tomllib
from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement

from tests.conftest import PROJECT

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def named(*extras: str) -> list[Requirement]:
    """What `pip install .[EXTRAS]` asks for, extras of this project resolved."""
    groups = DECLARED["optional-dependencies"]
    found = {*DECLARED["dependencies"]}
    waiting = [text for extra in extras for text in groups[extra]]
    while waiting:
        asked = Requirement(waiting.pop())
        if asked.name == DECLARED["name"]:
            waiting += [text for extra in asked.extras for text in groups[extra]]
        else:
            found.add(str(asked))
    return [Requirement(text) for text in sorted(found)]


def brought(asked: Iterable[Requirement]) -> dict[str, metadata.Distribution]:
    """The installed packages that pip would install for these, by name. PackageNotFoundError if one is missing."""
    found: dict[str, metadata.Distribution] = {}
    waiting, seen = [*asked], set()
    while waiting:
        one = waiting.pop()
        if (key := (one.name, frozenset(one.extras))) in seen:
            continue
        seen.add(key)
        here = metadata.distribution(one.name)
        found[here.metadata["Name"]] = here
        for needed in map(Requirement, here.requires or ()):
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *one.extras)):
                waiting.append(needed)
    return found
