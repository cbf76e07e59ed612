"""Runs of study 001: compared trainings, retrieval, representation and generation, formulae."""

from typing import Self

from pydantic import model_validator

from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import refuse_searched_seeds
from allmlp.studies.mixers.runs import formulae, representation, retrieval, training
from allmlp.studies.mixers.runs.representation import GenerationSettings, RepresentationSettings
from allmlp.studies.mixers.runs.retrieval import merge_runs
from allmlp.studies.mixers.runs.retrieval_settings import RetrievalSettings
from allmlp.studies.mixers.runs.settings import TrainingSettings


class Settings(TrainingSettings):
    """Settings of the trainings on the top level, and a block for each use of the trained models."""

    retrieval: RetrievalSettings | None = None
    representation: RepresentationSettings | None = None
    generation: GenerationSettings | None = None

    @model_validator(mode="after")
    def _check_search_seeds(self) -> Self:
        """No part evaluates a model on a seed that was used to choose its rate, or its matcher's."""
        matched = self.retrieval.seeds or self.seeds if self.retrieval else []
        recovered = self.representation.seeds if self.representation else []
        completions = self.generation.completions if self.generation else None
        evaluated = [*matched, *recovered, *(completions.seeds if completions else [])]
        if self.search:
            refuse_searched_seeds(self.search.seeds, evaluated, "search.seeds")
        if self.retrieval and self.retrieval.search:
            refuse_searched_seeds(self.retrieval.search.seeds, matched, "retrieval.search.seeds")
        return self


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    speed = settings.generation.speed if settings.generation else None
    return merge_runs(
        [
            *training.runs(settings, context),
            *retrieval.runs(settings.retrieval, settings, context),
            *representation.runs(settings.representation, settings.generation, settings, context),
            *formulae.runs(settings, speed, context),
        ]
    )
