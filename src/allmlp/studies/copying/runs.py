"""Runs of study 002's copying slice: architectures x string lengths x seeds."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator

from allmlp.models import REGISTRY
from allmlp.run import Run
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies import SHARED, names
from allmlp.studies.settings import StudySettings

if TYPE_CHECKING:
    from allmlp.plan import Context

VOCABULARY = 29  # BOS, SEP, EOS and 26 letters (002); the task states the same, a test holds them together


class Model(Strict):
    """One architecture of the comparison: what it needs besides the shared sizes, and a learning rate of its own."""

    hyperparameters: dict[str, Any] = Field(default={})
    learning_rate: float | None = Field(default=None, gt=0)


class Settings(StudySettings):
    """Sizes shared by all models; `models`: architecture -> what is its own."""

    string_lengths: list[Annotated[int, Field(gt=0)]] = Field(min_length=1)
    batch_size: int = Field(gt=0)
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    models: dict[str, Model] = Field(min_length=1)

    @field_validator("models")
    @classmethod
    def _known(cls, models: dict[str, Model]) -> dict[str, Model]:
        refuse_unknown_names("architecture", models, REGISTRY)
        return models


def runs(settings: Settings, context: "Context") -> list[Run]:
    """One run per string length, model and seed; longest strings first, so that the last job is a short one."""
    return [
        _run(settings, context, architecture, length, seed)
        for length in sorted(settings.string_lengths, reverse=True)
        for architecture in settings.models
        for seed in settings.seeds
    ]


def _run(settings: Settings, context: "Context", architecture: str, length: int, seed: int) -> Run:
    model = settings.models[architecture]
    shared = {
        "vocabulary": VOCABULARY,
        "context": 2 * length + 2,
        "d_model": settings.d_model,
        "n_blocks": settings.n_blocks,
    }
    optimiser = settings.optimiser.model_dump()
    if model.learning_rate is not None:
        optimiser["learning_rate"] = model.learning_rate
    return Run(
        study="copying",
        name=f"{architecture}-string{length}",
        labels={"model": architecture, "string_length": length},
        architecture=architecture,
        hyperparameters={**shared, **model.hyperparameters},
        task="copying",
        task_parameters={"string_length": length, "batch_size": settings.batch_size},
        optimiser=optimiser,
        steps=settings.steps,
        seed=seed,
        measures=(*names("copying", "measures"), *SHARED),
        **settings.machine(context.device),
    )
