"""What the plan must know of an architecture and cannot know without PyTorch: what its class says, and what it counts.

`known.json` beside this file holds it for the plan of params.yaml, so that planning imports no torch. What is not in
there (a new architecture, other sizes) is asked of the class once, seconds of the first command, and remembered under
work/. An architecture that sees later tokens is refused there by name, before a run of it is planned.

    python -m allmlp.studies.crossover.known      writes known.json anew, once a RECIPE or params.yaml has changed
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from allmlp import models, paths, recipes
from allmlp.errors import UserError

SIZES = ("vocabulary", "context", "d_model", "n_blocks", "n_heads", "d_mlp")  # what every architecture may be given
FILE, REMEMBERED = Path(__file__).with_suffix(".json"), Path("work/crossover.json")


class Known(NamedTuple):
    """What an architecture's class says of itself.

    `takes`, `needs`: its hyperparameters, and those without a default. `context`: the one that it is bound to.
    """

    family: str
    causal: bool
    predicts: str
    takes: tuple[str, ...]
    needs: tuple[str, ...]
    context: int | None


def _read(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # what is lost is asked again
        return {}


class Memory:
    """What is known: that of known.json, which a test holds current, and what was asked since."""

    def __init__(self) -> None:
        self.used: dict[str, Any] = {}
        self._found: dict[str, Any] = {**_read(REMEMBERED), **_read(FILE)}

    def forget(self) -> None:
        """Ask everything anew."""
        self._found = {}

    def ask(self, architecture: str, of: str, answer: Callable[[], Any]) -> Any:
        """What is known of an architecture; `answer()`, remembered until its file changes, where nothing is."""
        place = models.REGISTRY[architecture]
        module = place.split(":")[0]
        key = f"{architecture}: {place} recipe {recipes.of(module)}{of}"
        if key not in self._found:
            stamped = f"{key}, file {paths.file_sha256(recipes.source(module))[:16]}"
            if stamped not in self._found:
                self._found[stamped] = answer()
                new = _read(REMEMBERED)
                paths.write_whole(REMEMBERED, json.dumps({**new, stamped: self._found[stamped]}, indent=1) + "\n")
            self._found[key] = self._found[stamped]
        self.used[key] = self._found[key]
        return self._found[key]


@cache
def memory() -> Memory:
    """One for a process."""
    return Memory()


@cache
def of(architecture: str) -> Known:
    """What the class of an architecture says. UserError for one that says it is causal and is not."""

    def describe() -> dict[str, Any]:
        told = described(architecture)
        if told["causal"] and told["predicts"] == "all" and set(told["needs"]) <= set(SIZES):
            _refuse_leak(architecture)
        return told

    told = memory().ask(architecture, "", describe)
    return Known(**{**told, "takes": tuple(told["takes"]), "needs": tuple(told["needs"])})


def described(architecture: str) -> dict[str, Any]:
    """The same asked of the class, with PyTorch."""
    cls, takes = models.load(architecture), models.hyperparameters(architecture)
    bound = takes.get("context")
    return {
        "family": cls.family,
        "causal": cls.causal,
        "predicts": cls.predicts,
        "takes": list(takes),
        "needs": [name for name, default in takes.items() if not isinstance(default, _PLAIN)],
        "context": bound if isinstance(bound, int) else None,
    }


_PLAIN = (int, float, str, bool, list, tuple, dict, type(None))  # a default; without one it is a class of `inspect`


@cache
def _flops(architecture: str, canonical: str, sequences: int) -> int:
    def count() -> int:
        import torch

        from allmlp.training import flops

        with torch.device("meta"):
            model = models.build(architecture, **json.loads(canonical))
        return flops.counted_flops(model, sequences)

    size = paths.digest([json.loads(canonical), sequences], 16)
    return memory().ask(architecture, f", of {size}", count)


def flops(architecture: str, hyperparameters: dict[str, Any], sequences: int) -> int:
    """Counted operations of a training step on so many full sequences."""
    return _flops(architecture, paths.canonical(hyperparameters), sequences)


def _refuse_leak(architecture: str) -> None:
    """UserError, with its name, for an architecture that says it is causal and sees later tokens."""
    import torch

    from allmlp import audit

    with torch.random.fork_rng():
        leak = audit.leak(audit.tiny(architecture))
    if leak:
        raise UserError(
            f"{architecture}: says that it is causal, and {leak}. It would read what it is to predict, so no run of it "
            f"is planned. Mend it, or say `causal = False` in {models.REGISTRY[architecture]}."
        )


def main() -> None:
    """Write known.json: what the plans of all scales ask, asked anew."""
    from allmlp.plan import load_plan

    memory().forget()
    load_plan().by_scale  # noqa: B018  a cached property: asks for every scale
    paths.write_whole(FILE, json.dumps(dict(sorted(memory().used.items())), indent=1) + "\n")


if __name__ == "__main__":
    from allmlp.studies.crossover import known  # as the plan imports it: one memory

    known.main()
