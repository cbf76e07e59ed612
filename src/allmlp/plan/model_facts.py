"""Facts on architectures that the plan needs and only PyTorch can give: declarations of the class, weights, FLOPs.

`model_facts.json` beside this file has them for the plans of all scales, so that planning imports no torch. Missing
facts (of a new architecture, of other sizes) are computed once and cached under work/. An architecture that sees later
tokens is refused by name, before a run of it is planned. `allmlp check --fix` writes the file.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from allmlp import models
from allmlp.common import paths, recipes
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.spec.run import Run

SIZES = ("vocabulary", "context", "d_model", "n_blocks", "n_heads", "d_mlp")  # what every architecture may be given
FILE, REMEMBERED = Path(__file__).with_suffix(".json"), Path("work/known.json")


class Declarations(NamedTuple):
    """The declarations of an architecture's class.

    `takes`, `needs`: its hyperparameters, and those without a default. `context`: the one that it is bound to.
    """

    family: str
    causal: bool
    predicts: str
    takes: tuple[str, ...]
    needs: tuple[str, ...]
    context: int | None


def read(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # a lost file is computed again
        return {}


class Memory:
    """Known facts: those of model_facts.json, which a test keeps current, and cached ones.

    `again`: ask classes and tasks again, and cache nothing for the next command.
    """

    def __init__(self, again: bool = False) -> None:
        self.used: dict[str, Any] = {}
        self.steps: dict[str, tuple[Batch, Counts]] = {}  # of runs, by id
        self._keeps, written = not again, read(FILE)
        counts = {key: of for key, of in written.items() if ", of " in key and key.split(":")[0] in models.REGISTRY}
        self._found: dict[str, Any] = counts if again else {**read(REMEMBERED), **written}

    def ask(self, name: str, place: str, of: str, answer: Callable[[], Any]) -> Any:
        """The known fact of a class at `place`, or else `answer()`, cached until the file of the class changes."""
        module = place.split(":")[0]
        key = f"{name}: {place} recipe {recipes.recipe_number(module)}{of}"
        if key not in self._found:
            stamped = f"{key}, file {paths.file_sha256(recipes.source(module))[:16]}"
            if stamped not in self._found:
                self._found[stamped] = answer()
                self._remember(stamped)
            self._found[key] = self._found[stamped]
        self.used[key] = self._found[key]
        return self._found[key]

    def _remember(self, key: str) -> None:
        """For the next command."""
        if self._keeps:
            paths.write_atomically(REMEMBERED, json.dumps({**read(REMEMBERED), key: self._found[key]}, indent=1) + "\n")


_memory: list[Memory] = []  # one for a process


def memory() -> Memory:
    """The process's memory."""
    if not _memory:
        _memory.append(Memory())
    return _memory[0]


def restart() -> Memory:
    """Replace the cache for the rest of the process, so that classes and tasks are asked again."""
    _memory[:] = [Memory(again=True)]
    for remembering in (declarations, _counts):
        remembering.cache_clear()
    return _memory[0]


@cache
def declarations(architecture: str) -> Declarations:
    """The declarations of an architecture's class. UserError for one that declares itself causal and is not."""

    def describe() -> dict[str, Any]:
        found = describe_class(architecture)
        if found["causal"] and found["predicts"] == "all" and set(found["needs"]) <= set(SIZES):
            _refuse_leak(architecture)
        return found

    found = memory().ask(architecture, models.REGISTRY[architecture], "", describe)
    return Declarations(**{**found, "takes": tuple(found["takes"]), "needs": tuple(found["needs"])})


def describe_class(architecture: str) -> dict[str, Any]:
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


class Counts(NamedTuple):
    """Weights of a model, and floating-point operations of one training step."""

    parameters: int
    flops: int


@cache
def _counts(architecture: str, canonical: str, sequences: int) -> Counts:
    def count() -> list[int]:
        import torch

        from allmlp.models import flops

        with torch.device("meta"):
            model = models.build(architecture, **json.loads(canonical))
        return [flops.parameters(model)["total"], flops.counted_flops(model, sequences)]

    size = paths.digest([json.loads(canonical), sequences], 16)
    return Counts(*memory().ask(architecture, models.REGISTRY[architecture], f", of {size}", count))


def counts(architecture: str, hyperparameters: dict[str, Any], sequences: int) -> Counts:
    """Weights, and counted operations of a training step on so many full sequences."""
    return _counts(architecture, paths.canonical(hyperparameters), sequences)


class Batch(NamedTuple):
    """What a task gives at one step."""

    sequences: int
    supervised_tokens: int


def batch(task: str, parameters: dict[str, Any]) -> Batch:
    """The size of a task's batches."""
    size = paths.digest(parameters, 16)
    return Batch(*memory().ask(task, tasks.REGISTRY[task], f", of {size}", lambda: [*tasks.size(task, parameters)]))


def step(run: Run) -> tuple[Batch, Counts]:
    """The batch of a run's step, and its model's weights and operations; computed once, as a plan asks many times."""
    known = memory().steps
    if run.id not in known:
        size = batch(run.task, run.task_parameters)
        known[run.id] = size, counts(run.architecture, run.hyperparameters, size.sequences)
    return known[run.id]


def _refuse_leak(architecture: str) -> None:
    """UserError for an architecture that declares itself causal and sees later tokens."""
    import torch

    from allmlp.models import audit

    with torch.random.fork_rng():
        leak = audit.leak(audit.build_small(architecture))
    if leak:
        raise UserError(
            f"{architecture}: says that it is causal, and {leak}. It would read what it is to predict, so no run of it "
            f"is planned. Mend it, or say `causal = False` in {models.REGISTRY[architecture]}."
        )
