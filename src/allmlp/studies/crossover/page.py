"""What the page has of the crossover beside its figures and tables: how far the families are behind attention."""

from typing import Any

from allmlp.studies.crossover.nearest import find_lead


def lead(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Values for the study's own text: `learnt`, `missed` and `nearest`, or nothing."""
    return find_lead(tables)
