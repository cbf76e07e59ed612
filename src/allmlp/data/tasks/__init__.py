"""Tasks by name. `batch(seed, step)` is a pure function: resuming needs no position in the data.

The registry holds "module:Class", so that a plan can be computed without importing torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from allmlp.common.errors import UserError

if TYPE_CHECKING:
    from allmlp.data.tasks.task import Task

REGISTRY = {
    "copying": "allmlp.data.tasks.copying:Copying",
    "modular-addition": "allmlp.data.tasks.modular:ModularAddition",
    "modular-addition-causal": "allmlp.data.tasks.modular:ModularAdditionCausal",
    "recall": "allmlp.data.tasks.recall:Recall",
    "documents": "allmlp.data.tasks.documents:Documents",
    "autoencode": "allmlp.data.tasks.autoencode:Autoencode",
    "images": "allmlp.data.tasks.images:ImageClassification",
    "last-token": "allmlp.data.tasks.last_token:LastToken",
    "next-token": "allmlp.data.tasks.next_token:NextToken",
    "retrieval": "allmlp.data.tasks.retrieval:Retrieval",
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
