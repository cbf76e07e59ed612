"""Runs of study 001: trainings that are compared, retrieval, what trained models hold and write, formulae."""

from dataclasses import replace
from typing import TYPE_CHECKING

from allmlp.run import Run
from allmlp.studies.mixers.runs import formulae, representation, retrieval, training
from allmlp.studies.mixers.runs.representation import GenerationSettings, RepresentationSettings
from allmlp.studies.mixers.runs.retrieval import RetrievalSettings
from allmlp.studies.mixers.runs.settings import TrainingSettings

if TYPE_CHECKING:
    from allmlp.plan import Context


class Settings(TrainingSettings):
    """Trainings on the top level, what uses the trained models in blocks of their own."""

    retrieval: RetrievalSettings | None = None
    representation: RepresentationSettings | None = None
    generation: GenerationSettings | None = None


def runs(settings: Settings, context: "Context") -> list[Run]:
    """Every run of the study at one scale."""
    speed = settings.generation.speed if settings.generation else None
    return united(
        [
            *training.runs(settings, context),
            *retrieval.runs(settings, context),
            *representation.runs(settings.representation, settings.generation, settings, context),
            *formulae.runs(settings, speed, context),
        ]
    )


def united(runs: list[Run]) -> list[Run]:
    """Runs of one id as one, where it first stands and with its labels: it has the measures of all."""
    found: dict[str, Run] = {}
    for run in runs:
        first = found.get(run.id, run)
        found[run.id] = replace(first, measures=tuple(dict.fromkeys((*first.measures, *run.measures))))
    return list(found.values())
