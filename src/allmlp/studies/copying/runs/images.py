"""Runs on images by patches: bidirectional networks x seeds on one corpus (002-8, 002-9)."""

from pydantic import Field

from allmlp.images import patches_of
from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.trainings import TrainingSettings
from allmlp.studies.settings import StudySettings
from allmlp.studies.texts import of_corpus

OF_EVERY_IMAGE_RUN = ("image_curve", *SHARED)
OF_RELATIONS = ("heat_maps", "heat_shares", *OF_EVERY_IMAGE_RUN)
RELATIONS = ("birn", "linear-birn")  # what has a heat map


class Settings(TrainingSettings):
    """Pixels by patches of `patch` x `patch`."""

    patch: int = Field(default=2, gt=0)
    test_images: int = Field(default=10_000, gt=0)


def runs(settings: Settings, study: StudySettings, context: Context) -> list[Run]:
    """One run per model and seed; `study` says how a run computes."""
    source = context.images(settings.corpus)
    patches, features = patches_of(source.size, settings.patch)
    return [
        settings.run(
            study,
            context,
            architecture,
            seed,
            name=f"{architecture}-{settings.corpus}",
            part="images",
            sizes={"context": patches, "features": features},
            options={"vocabulary": source.classes},
            measures=OF_RELATIONS if architecture in RELATIONS else OF_EVERY_IMAGE_RUN,
            task="images",
            task_parameters={name: getattr(settings, name) for name in ("patch", "batch_size", "test_images")},
            **of_corpus(context, settings.corpus),
        )
        for architecture, seed in settings.trainings()
    ]
