"""Which architecture can do which task according to its class, and a sentence for the reader if it cannot.

>>> misfit_reason("transformer", "copying")
>>> misfit_reason("mlp", "copying")
'It gives one answer per sequence, not one per token.'
"""

from typing import NamedTuple

from allmlp.models import REGISTRY
from allmlp.plan import model_facts


class TaskNeeds(NamedTuple):
    """What a task needs: tokens or patches, predictions at "all" positions or the "last", a fixed length or any."""

    reads: str = "tokens"
    predicts: tuple[str, ...] = ("all",)
    context: int | None = None


TASKS = {
    "copying": TaskNeeds(),
    "bytes": TaskNeeds(),
    "stories": TaskNeeds(),
    "retrieval": TaskNeeds(),
    "recall": TaskNeeds(predicts=("all", "last")),
    "multi-recall": TaskNeeds(),
    "digits": TaskNeeds(reads="patches", predicts=("last",)),
    "addition": TaskNeeds(predicts=("all", "last"), context=2),
}
READS = {
    "tokens": "It reads tokens, not patches of images.",
    "patches": "It reads patches of images, not tokens.",
}
ANSWERS = {
    "all": "It gives one answer per token, not one per sequence.",
    "last": "It gives one answer per sequence, not one per token.",
}


def misfit_reason(architecture: str, task: str) -> str | None:
    """Why an architecture cannot do a task, in one short sentence (a cell of the matrix); None if it can."""
    about, asks = model_facts.declarations(architecture), TASKS[task]
    reads = "patches" if "features" in about.takes else "tokens"
    given = (*model_facts.SIZES, "features") if asks.reads == "patches" else model_facts.SIZES
    if "d_model" not in about.takes:
        return "Its width cannot be set."
    if reads != asks.reads:
        return READS[reads]
    if lacking := [name for name in about.needs if name not in given]:
        return f"Its class has no default for {', '.join(lacking)}."
    if about.predicts == "all" and not about.causal:
        return "It sees the tokens that it would have to predict."
    if about.predicts not in asks.predicts:
        return ANSWERS[about.predicts]
    if about.context not in (None, asks.context):
        return f"It reads sequences of {about.context} tokens only."
    return None


def list_misfits() -> list[tuple[str, str, str]]:
    """(architecture, task, why it cannot or empty) of the whole registry, in its order."""
    return [(name, task, misfit_reason(name, task) or "") for name in REGISTRY for task in TASKS]
