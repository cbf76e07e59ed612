"""The first losses of every architecture: what keeps an unchanged RECIPE honest.

`allmlp check --fix` adds those of a new architecture, and writes again those of a raised RECIPE. One that is in no
commit may change without: its losses are taken each time.
"""

import json
import math
import os
import sys
import tempfile
from pathlib import Path

from allmlp import models
from allmlp.common import recipes
from tests import tiny

FILE = Path(__file__).with_name("golden.json")
ROOT = FILE.parents[2]
STEPS = 6


def first_losses(architecture: str) -> list[float]:
    """Losses before each of the first updates of the tiny run, in nats."""
    from allmlp.training.loop import Training

    training = Training(tiny.run(architecture, steps=STEPS), Path("work") / architecture)
    training.train()
    return training.work.log()["loss"].tolist()


def read() -> dict[str, list[float]]:
    """architecture -> its losses."""
    return {name: entry["losses"] for name, entry in _entries().items()}


def _entries() -> dict[str, dict[str, list]]:
    return json.loads(FILE.read_text())


def _recipes(architecture: str) -> list[int]:
    """Of the architecture, its task and the training loop."""
    return tiny.run(architecture).identity["recipes"]


def out_of_line() -> dict[str, list[str]]:
    """What is wrong -> the architectures that it is true of."""
    known = _entries()
    found = {
        "no losses yet": [name for name in tiny.ALL if name not in known],
        "other losses than those of the sources": [name for name in _uncommitted() if name in known and _differ(name)],
        "losses of another RECIPE": [n for n in tiny.ALL if n in known and known[n]["recipes"] != _recipes(n)],
        "no architecture any more": [name for name in known if name not in tiny.ALL],
    }
    return {what: names for what, names in found.items() if names}


def _uncommitted() -> list[str]:
    """The architectures whose module is in no commit."""
    committed = recipes.committed(ROOT)
    return [name for name in tiny.ALL if models.REGISTRY[name].split(":")[0] not in committed]


def _differ(architecture: str) -> bool:
    known = read()[architecture]
    os.chdir(tempfile.mkdtemp())
    tiny.write_tokens(Path.cwd())
    try:
        return not all(map(_is_close, first_losses(architecture), known))
    finally:
        os.chdir(ROOT)


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-5)


def write(again: set[str]) -> None:
    """Write golden.json, with the losses of some architectures taken again."""
    os.chdir(tempfile.mkdtemp())
    tiny.write_tokens(Path.cwd())
    known = _entries()
    for name in again & set(tiny.ALL):
        known[name] = {"recipes": _recipes(name), "losses": first_losses(name)}
    lines = (f"{json.dumps(name)}: {json.dumps(known[name])}" for name in tiny.ALL)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    found = out_of_line()
    if found and "--fix" in sys.argv:
        write({name for names in found.values() for name in names})
    print(json.dumps(found))
