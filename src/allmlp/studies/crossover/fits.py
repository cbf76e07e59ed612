"""Which architecture can do which task according to its class, and a sentence for the reader if it cannot.

>>> fits("transformer", "copying")
>>> fits("mlp", "copying")
'It gives one answer per sequence, not one per token.'
"""

from typing import NamedTuple

from allmlp import known
from allmlp.models import REGISTRY


class Asks(NamedTuple):
    """What a task needs: tokens or patches, predictions at "all" positions or the "last", a fixed length or any."""

    reads: str = "tokens"
    predicts: tuple[str, ...] = ("all",)
    context: int | None = None


TASKS = {
    "copying": Asks(),
    "bytes": Asks(),
    "stories": Asks(),
    "retrieval": Asks(),
    "recall": Asks(predicts=("all", "last")),
    "multi-recall": Asks(),
    "digits": Asks(reads="patches", predicts=("last",)),
    "addition": Asks(predicts=("all", "last"), context=2),
}
READS = {
    "tokens": "It reads tokens, not patches of images.",
    "patches": "It reads patches of images, not tokens.",
}
ANSWERS = {
    "all": "It gives one answer per token, not one per sequence.",
    "last": "It gives one answer per sequence, not one per token.",
}


def fits(architecture: str, task: str) -> str | None:
    """Why an architecture cannot do a task, in one short sentence (a cell of the matrix); None if it can."""
    about, asks = known.of(architecture), TASKS[task]
    reads = "patches" if "features" in about.takes else "tokens"
    given = (*known.SIZES, "features") if asks.reads == "patches" else known.SIZES
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


def all_fits() -> list[tuple[str, str, str]]:
    """(architecture, task, why it cannot or empty) of the whole registry, in its order."""
    return [(name, task, fits(name, task) or "") for name in REGISTRY for task in TASKS]
