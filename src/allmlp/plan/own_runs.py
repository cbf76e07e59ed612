"""Which of the user's own folders a run belongs to, for the errors of commands that were called without its files."""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.common.paths import SELECTED

OWN, TRIED = Path("own"), "try"  # the user's own folders, and that of `allmlp try` in it
OWNER = "of.json"  # whose results a folder has: the files that were laid over the parameters


def advice(root: Path, named: str, plan: Callable[[list[Path]], Iterable[str]]) -> str:
    """What lets a command find the run of the user's own that is named so, or begins or ends so; empty without one.

    `plan`: the ids of the runs that are planned with these files.
    """
    for file in sorted((root / OWN).glob(f"*/{OWNER}")):
        with suppress(OSError, ValueError, KeyError, TypeError, UserError):  # another error is on its way to the user
            overlays = json.loads(file.read_text(encoding="utf-8"))
            if any(run.startswith(named) or run.endswith(named) for run in _runs(root, file.parent, overlays, plan)):
                words = shlex.join(word for name in overlays for word in ("--params", name))
                listed = ", ".join(f'"{name}"' for name in overlays)
                in_python = f"params={listed if len(overlays) == 1 else f'[{listed}]'}"
                return f"It is a run of {OWN / file.parent.name}: add `{words}`, in Python `{in_python}`."
    return ""


def _runs(root: Path, place: Path, overlays: list[str], plan: Callable[[list[Path]], Iterable[str]]) -> Iterator[str]:
    """The ids of a folder's runs: those of its report, those measured since, and those that its files plan."""
    if (place / SELECTED).is_file():
        studies = json.loads((place / SELECTED).read_bytes())["studies"]
        yield from (row[0] for scales in studies.values() for at in scales.values() for row in at["runs"])
    yield from (file.stem.rpartition("-r")[0] for file in place.glob("work/measurements/*/*/*.parquet"))
    yield from plan([root / name for name in overlays])
