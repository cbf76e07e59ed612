"""Tasks by name. `batch(seed, step)` is a pure function: resuming needs no position in the data.

The registry holds "module:Class", so that a plan can be computed without importing torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from allmlp.errors import UserError

if TYPE_CHECKING:
    from allmlp.tasks.task import Task

REGISTRY = {
    "copying": "allmlp.tasks.copying:Copying",
    "modular-addition": "allmlp.tasks.modular:ModularAddition",
    "modular-addition-causal": "allmlp.tasks.modular:ModularAdditionCausal",
    "recall": "allmlp.tasks.recall:Recall",
    "documents": "allmlp.tasks.documents:Documents",
    "autoencode": "allmlp.tasks.autoencode:Autoencode",
    "images": "allmlp.tasks.images:ImageClassification",
    "last-token": "allmlp.tasks.last_token:LastToken",
    "next-token": "allmlp.tasks.next_token:NextToken",
    "retrieval": "allmlp.tasks.retrieval:Retrieval",
}


def load(name: str) -> "type[Task]":
    """The class of the task of that name. UserError if there is none."""
    if name not in REGISTRY:
        raise UserError(f"no task {name!r}. There are: {', '.join(REGISTRY)}.")
    module, cls = REGISTRY[name].split(":")
    return getattr(importlib.import_module(module), cls)


def build(name: str, **parameters: Any) -> "Task":
    """The task of that name. A task that reads tokens takes their folder as `tokens`."""
    return load(name)(**parameters)


def size(name: str, parameters: dict[str, Any]) -> tuple[int, int]:
    """Sequences, and supervised tokens, of one batch: known without reading any data."""
    return load(name).size(**parameters)
