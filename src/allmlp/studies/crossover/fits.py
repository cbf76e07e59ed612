"""Which architecture can do which task, by what its class says of itself, and why not.

>>> fits("transformer", "copying")
>>> fits("mlp", "copying")
'predicts the last token only'
"""

from typing import NamedTuple

from allmlp.studies.crossover import known


class Asks(NamedTuple):
    """What a task asks: tokens or patches, predictions of "all" positions or the "last", a fixed length or any."""

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


def fits(architecture: str, task: str) -> str | None:
    """Why an architecture cannot do a task, in a few words; None where it can."""
    about, asks = known.of(architecture), TASKS[task]
    reads = "patches" if "features" in about.takes else "tokens"
    given = (*known.SIZES, "features") if asks.reads == "patches" else known.SIZES
    if "d_model" not in about.takes:
        return "has no width to set"
    if reads != asks.reads:
        return f"reads {reads}"
    if lacking := [name for name in about.needs if name not in given]:
        return f"needs {', '.join(lacking)}"
    if about.predicts == "all" and not about.causal:
        return "sees what it is to predict"
    if about.predicts not in asks.predicts:
        return "predicts the last token only" if about.predicts == "last" else "predicts every token"
    if about.context not in (None, asks.context):
        return f"reads {about.context} tokens only"
    return None
