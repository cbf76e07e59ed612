"""How study 001's figures draw its models: in the colours of their architectures, their variants by marks."""

from typing import Any

from allmlp.report import style
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS

HEADLINES = ("flat", "expanded", "llama-4", "hybrid-after", "gpt-4")  # the models of figures with few lines
FAMILIES = ("masked-mixer", "llama", "openai-gpt", "hybrid", "hybrid-as-published")  # architectures, in this order
MARKS = {"expanded": "s", "kernel-4": "^", "llama-2": "s"}  # where a figure has two variants of an architecture


def looks(variant: str) -> dict[str, Any]:
    """The line of a model: in its architecture's colour, dashed with another mark for a second variant of one."""
    second = variant in MARKS
    return {"color": style.colour(variant), "marker": MARKS.get(variant, "o"), "linestyle": "--" if second else "-"}


def embedder_look(name: str) -> dict[str, str]:
    """How an embedder of the retrieval is drawn: in its architecture's colour, hollow if it is not trained."""
    shade = style.colour(EMBEDDERS[name])  # type: ignore[index]
    return {"color": shade, "markerfacecolor": "white" if name.startswith("untrained") else shade}
