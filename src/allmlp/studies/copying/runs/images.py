"""Runs on images by patches: bidirectional networks x seeds on one corpus (002-8, 002-9)."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from allmlp.images import patches_of
from allmlp.models import REGISTRY
from allmlp.run import Run, log_spaced
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.strings import Model
from allmlp.studies.settings import Optimiser, StudySettings

if TYPE_CHECKING:
    from allmlp.plan import Context

OF_EVERY_IMAGE_RUN = ("image_curve", *SHARED)
OF_RELATIONS = ("heat_maps", "heat_shares", *OF_EVERY_IMAGE_RUN)
RELATIONS = ("birn", "linear-birn")  # what has a heat map


class Settings(Strict):
    """Sizes that all models share; `kept_per_decade`: steps, evenly in their logarithm, with a test loss."""

    corpus: str
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    steps: int = Field(gt=0)
    patch: int = Field(default=2, gt=0)
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    test_images: int = Field(default=10_000, gt=0)
    kept_per_decade: int = Field(default=4, gt=0)
    models: dict[str, Model] = Field(min_length=1)
    optimiser: Optimiser

    @field_validator("models")
    @classmethod
    def _known(cls, models: dict[str, Model]) -> dict[str, Model]:
        refuse_unknown_names("architecture", models, REGISTRY)
        return models


def runs(settings: Settings, study: StudySettings, context: "Context") -> list[Run]:
    """One run per model and seed; `study` says how a run computes."""
    return [
        _run(settings, study, context, architecture, seed)
        for architecture in settings.models
        for seed in settings.seeds
    ]


def _run(settings: Settings, study: StudySettings, context: "Context", architecture: str, seed: int) -> Run:
    model, source = settings.models[architecture], context.images(settings.corpus)
    optimiser = settings.optimiser.model_dump()
    if model.learning_rate is not None:
        optimiser["learning_rate"] = model.learning_rate
    patches, features = patches_of(source.size, settings.patch)
    sizes = {"context": patches, "features": features, "d_model": settings.d_model, "n_blocks": settings.n_blocks}
    return Run(
        study="copying",
        name=f"{architecture}-{settings.corpus}",
        labels={"model": architecture, "part": "images", "corpus": settings.corpus, **sizes},
        architecture=architecture,
        hyperparameters={"vocabulary": source.classes, **sizes, **model.hyperparameters},
        task="images",
        task_parameters={
            "patch": settings.patch,
            "batch_size": settings.batch_size,
            "test_images": settings.test_images,
        },
        corpus=settings.corpus,
        tokens=context.tokens(settings.corpus),
        corpus_settings=context.corpus_settings(settings.corpus),
        optimiser=optimiser,
        steps=settings.steps,
        seed=seed,
        measures=OF_RELATIONS if architecture in RELATIONS else OF_EVERY_IMAGE_RUN,
        keep=log_spaced(settings.steps, settings.kept_per_decade),
        **study.machine(context.device),
    )
