"""How study 001's figures draw its models: the same colour for a model in all figures."""

from allmlp.report import style
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS

OF_MODEL = {
    "flat": "#0072B2",
    "expanded": "#56B4E9",
    "llama-4": "#D55E00",
    "gpt-4": "#000000",
    "hybrid-after": "#CC79A7",
    "kernel-4": "#009E73",
    "kernel-4-linear": "#E69F00",
}
HEADLINES = ("flat", "expanded", "llama-4", "hybrid-after", "gpt-4")  # the models of figures with few lines
FAMILIES = {  # architecture -> name and colour of its family in figures
    "masked-mixer": ("mixers", "#0072B2"),
    "llama": ("Llamas", "#D55E00"),
    "openai-gpt": ("early GPT", "#000000"),
    "hybrid": ("hybrids", "#CC79A7"),
    "hybrid-as-published": ("hybrid as published, which leaks", "#E69F00"),
}


def colour(variant: str, position: int = 0) -> str:
    """A model's colour, here and in every figure; those without one take the neutral ones in turn."""
    return OF_MODEL.get(variant) or style.NEUTRAL[position % len(style.NEUTRAL)]


def of_embedder(name: str) -> dict[str, str]:
    """How an embedder of the retrieval is drawn: in its architecture's colour, hollow if it is not trained."""
    shade = style.colour(EMBEDDERS[name])  # type: ignore[index]
    return {"color": shade, "markerfacecolor": "white" if name.startswith("untrained") else shade}
