"""Runs of study 004: variants of the triangular model, pre-training and fine-tuning, and what no training alters."""

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.triangular.runs import formulae, training
from allmlp.studies.triangular.runs.settings import Settings

__all__ = ["Settings", "runs"]


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    return [*training.runs(settings, context), formulae.run(settings)]
