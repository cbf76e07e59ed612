"""Every parameter, from the models that check it: key, value, default, meaning."""

import inspect
from typing import Any

from pydantic import BaseModel

from allmlp import models
from allmlp.data import tasks
from allmlp.data.corpora.shuffling import Shuffle
from allmlp.data.corpora.sources import IMAGES, PAIRS, TEXT
from allmlp.data.tokenizers.specs import TokenizerSpec
from allmlp.plan import params
from allmlp.spec import catalogue, settings
from tests.pages.described import blocks, in_words, keys, label, reached
from tests.pages.markdown import cell, code, first, paragraphs, table

HEAD = """# All parameters

The how-to on [parameters](../parameters.md) says which file sets what, and how a file of your own is laid over them. An
unknown key is refused. A key without a default must be set.

"""
SHARED = (settings.Optimiser, settings.RelativeOptimiser, settings.LearningRateSearch)


def page() -> str:
    """The top level, corpora, studies, and what studies may name: architectures and tasks."""
    top = f"## params.yaml\n\n{paragraphs(inspect.cleandoc(params.Params.__doc__ or ''))}{keys(params.Top)}"
    return HEAD + top + _corpora() + _studies() + _architectures() + _tasks()


def _block(level: int, title: str, model: type[BaseModel]) -> str:
    own = model.__doc__ if model.__doc__ and not model.__doc__.startswith("!!!") else ""
    return f"({label(model)})=\n{'#' * level} {title}\n\n{paragraphs(inspect.cleandoc(own or ''))}{keys(model)}"


def _corpora() -> str:
    """The sources by what they hold, and the keys that stand beside a source of text."""
    text = "## Corpora\n\nEntries of `corpora:`, by name. The value of `source` decides which other keys there are.\n\n"
    for kind, sources in {"text": TEXT, "images": IMAGES, "pairs": PAIRS}.items():
        for name, model in sources.items():
            text += _block(3, f"source: {name} ({kind})", model)
            text += "".join(_block(4, f"{block.__name__} of {name}", block) for block in reached(model))
    beside = f"### Beside a source of text\n\n`shuffle` is {in_words(Shuffle)}. `deduplicate` is true or false. "
    beside += "`tokenizer` has a `kind`:\n\n"
    kinds = {model.model_fields["kind"].default: model for model in blocks(TokenizerSpec)}
    return text + beside + "".join(_block(4, f"kind: {kind}", model) for kind, model in kinds.items())


def _studies() -> str:
    """A study's own keys, then the blocks in them; blocks of several studies come first, once."""
    text = "## Blocks of several studies\n\n" + "".join(_block(3, model.__name__, model) for model in SHARED)
    shown = set(SHARED)
    for study in filter(catalogue.has_runs, catalogue.STUDIES):
        model = catalogue.module(study, "runs").Settings
        text += _block(2, f"studies.{study}", model)
        for block in reached(model):
            text += "" if block in shown else _block(3, f"{block.__name__} of {study}", block)
            shown.add(block)
    return text


def _architectures() -> str:
    head = "## Architectures\n\nTheir hyperparameters; with `=` the default.\n\n"
    rows = [
        [code(name), first(models.load(name).__doc__), _signature(models.hyperparameters(name))]
        for name in models.REGISTRY
    ]
    return head + table(["architecture", "what it is", "hyperparameters"], rows) + "\n"


def _tasks() -> str:
    found = {name: tasks.load(name) for name in tasks.REGISTRY}
    rows = [[code(name), first(task.__doc__), _signature(_defaults(task))] for name, task in found.items()]
    return "## Tasks\n\n" + table(["task", "what it is", "parameters"], rows)


def _defaults(built: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(built).parameters.items()}


def _signature(defaults: dict[str, Any]) -> str:
    required = inspect.Parameter.empty
    said = [name if value is required else f"{name}={value}" for name, value in defaults.items()]
    return ", ".join(code(one) for one in said) if said else cell("")
