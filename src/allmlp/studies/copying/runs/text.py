"""Runs on text by bytes: architectures x seeds on one corpus, with held-out losses on the way (002-7)."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from allmlp.models import REGISTRY
from allmlp.run import Run, log_spaced
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.strings import Model
from allmlp.studies.settings import Optimiser, StudySettings

if TYPE_CHECKING:
    from allmlp.plan import Context

RELATIONS = ("causal-rn", "linear-causal-rn")
OF_EVERY_TEXT_RUN = ("text_curve", "text_samples", *SHARED)


class Settings(Strict):
    """Sizes that all models share; `kept_per_decade`: steps, evenly in their logarithm, with a held-out loss."""

    corpus: str
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    steps: int = Field(gt=0)
    context: int = Field(gt=0)
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    validation_tokens: int = Field(gt=0)
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
    model = settings.models[architecture]
    optimiser = settings.optimiser.model_dump()
    if model.learning_rate is not None:
        optimiser["learning_rate"] = model.learning_rate
    sizes = {"context": settings.context, "d_model": settings.d_model, "n_blocks": settings.n_blocks}
    # as published: with d_h = 4 d a relation's block has the weights of a Transformer's
    wide = {"d_relation": 4 * settings.d_model} if architecture in RELATIONS else {}
    return Run(
        study="copying",
        name=f"{architecture}-text-{settings.corpus}",
        labels={"model": architecture, "part": "text", "corpus": settings.corpus, **sizes},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(settings.corpus), **sizes, **wide, **model.hyperparameters},
        task="next-token",
        task_parameters={
            "context": settings.context,
            "batch_size": settings.batch_size,
            "validation_tokens": settings.validation_tokens,
        },
        corpus=settings.corpus,
        tokens=context.tokens(settings.corpus),
        corpus_settings=context.corpus_settings(settings.corpus),
        optimiser=optimiser,
        steps=settings.steps,
        seed=seed,
        measures=OF_EVERY_TEXT_RUN,
        keep=log_spaced(settings.steps, settings.kept_per_decade),
        **study.machine(context.device),
    )
