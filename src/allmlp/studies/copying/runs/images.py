"""Runs on images by patches: bidirectional networks x seeds on one corpus (002-8, 002-9)."""

from pydantic import Field

from allmlp.images import patches_of
from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.trainings import TrainingSettings
from allmlp.studies.settings import StudySettings

OF_EVERY_IMAGE_RUN = ("image_curve", *SHARED)
OF_RELATIONS = ("heat_maps", "heat_shares", *OF_EVERY_IMAGE_RUN)
RELATIONS = ("birn", "linear-birn")  # what has a heat map


class Settings(TrainingSettings):
    """Pixels by patches of `patch` x `patch`."""

    patch: int = Field(default=2, gt=0)
    test_images: int = Field(default=10_000, gt=0)


def runs(settings: Settings, study: StudySettings, context: Context) -> list[Run]:
    """One run per model and seed; `study` says how a run computes."""
    return [_run(settings, study, context, architecture, seed) for architecture, seed in settings.trainings()]


def _run(settings: Settings, study: StudySettings, context: Context, architecture: str, seed: int) -> Run:
    model, source = settings.models[architecture], context.images(settings.corpus)
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
        optimiser=settings.optimiser_of(architecture),
        steps=settings.steps,
        seed=seed,
        measures=OF_RELATIONS if architecture in RELATIONS else OF_EVERY_IMAGE_RUN,
        keep=log_spaced(settings.steps, settings.kept_per_decade),
        **study.machine(context.device),
    )
