"""What the page has of study 003 beside its figures: sums of neurons to play with."""

from typing import Any

from allmlp.studies.quadrature.playground import networks


def enlarge(figure: str, corpora: dict[str, Any]) -> dict[str, Any]:
    """What a reader may open below a figure."""
    return {"networks": networks()} if figure == "sums" else {}
