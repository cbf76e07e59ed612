"""Runs on text by bytes and on images by patches: architectures x seeds on one corpus (002-7 to -9 and own claims)."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from allmlp.common.schema import StrictModel
from allmlp.data.images import patch_layout
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run, log_spaced_steps
from allmlp.spec.settings import Count, Optimiser, Seeds, StudySettings
from allmlp.studies.copying.runs.strings import Models
from allmlp.studies.shared.texts import corpus_fields, next_token


class TrainingSettings(StrictModel):
    """`kept_per_decade`: steps, evenly in their logarithm, with a held-out loss."""

    corpus: str
    seeds: Seeds
    steps: Count
    d_model: Count
    n_blocks: Count
    batch_size: Count
    kept_per_decade: int = Field(default=4, gt=0)
    models: Models
    optimiser: Optimiser

    def trainings(self) -> Iterator[tuple[str, int]]:
        """Every architecture with every seed."""
        yield from ((architecture, seed) for architecture in self.models for seed in self.seeds)

    def run(self, architecture: str, seed: int, part: str, sizes: dict[str, Any], options: Any, **fields: Any) -> Run:
        """One training. `options`: hyperparameters that are not labels. `fields`: further ones of the run."""
        model, sizes = self.models[architecture], {**sizes, "d_model": self.d_model, "n_blocks": self.n_blocks}
        rate = {} if model.learning_rate is None else {"learning_rate": model.learning_rate}
        return Run(
            study="copying",
            labels={"model": architecture, "part": part, "corpus": self.corpus, **sizes},
            architecture=architecture,
            hyperparameters={**options, **sizes, **model.hyperparameters},
            optimiser=self.optimiser.model_dump() | rate,
            steps=self.steps,
            seed=seed,
            keep=log_spaced_steps(self.steps, self.kept_per_decade),
            **fields,
        )


TEXT_RELATIONS = ("causal-rn", "linear-causal-rn")
OF_EVERY_TEXT_RUN = ("text_curve", "text_samples", *SHARED)


class TextSettings(TrainingSettings):
    """Windows of `context` bytes; losses are held out on `validation_tokens`."""

    context: Count
    validation_tokens: Count


def text_runs(settings: TextSettings, study: StudySettings, context: Context, part: str) -> list[Run]:
    """One run of a part per model and seed; `study` says how a run computes."""
    vocabulary, sizes = {"vocabulary": context.vocabulary(settings.corpus)}, {"context": settings.context}
    # as published: with d_h = 4 d a relation's block has the weights of a Transformer's
    wide = {architecture: {"d_relation": 4 * settings.d_model} for architecture in TEXT_RELATIONS}
    fields = {**next_token(settings, context, settings.corpus), **study.machine(context.device)}
    found = []
    for architecture, seed in settings.trainings():
        options, name = vocabulary | wide.get(architecture, {}), f"{architecture}-text-{settings.corpus}"
        own = {"name": name, "measures": OF_EVERY_TEXT_RUN}
        found.append(settings.run(architecture, seed, part, sizes, options, **own, **fields))
    return found


OF_EVERY_IMAGE_RUN = ("image_curve", *SHARED)
OF_RELATIONS = ("heat_maps", "heat_shares", *OF_EVERY_IMAGE_RUN)
RELATIONS = ("birn", "linear-birn")  # what has a heat map


class ImageSettings(TrainingSettings):
    """Pixels by patches of `patch` x `patch`."""

    patch: int = Field(default=2, gt=0)
    test_images: int = Field(default=10_000, gt=0)


def image_runs(settings: ImageSettings, study: StudySettings, context: Context, part: str) -> list[Run]:
    """One run of a part per model and seed; `study` says how a run computes."""
    source = context.images(settings.corpus)
    patches, features = patch_layout(source.size, settings.patch)
    sizes, classes = {"context": patches, "features": features}, {"vocabulary": source.classes}
    parameters = {name: getattr(settings, name) for name in ("patch", "batch_size", "test_images")}
    fields = {"task": "images", "task_parameters": parameters, **corpus_fields(context, settings.corpus)}
    fields |= study.machine(context.device)
    found = []
    for architecture, seed in settings.trainings():
        measures = OF_RELATIONS if architecture in RELATIONS else OF_EVERY_IMAGE_RUN
        own = {"name": f"{architecture}-{settings.corpus}", "measures": measures}
        found.append(settings.run(architecture, seed, part, sizes, classes, **own, **fields))
    return found
