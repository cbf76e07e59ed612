"""Runs that predict every next token: DCT-MLPs beside GPT-2s of several depths, and with more data (000-13)."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from allmlp.models import REGISTRY
from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies import SHARED
from allmlp.studies.language.runs.neurons import NeuronSettings
from allmlp.studies.settings import RelativeOptimiser

OF_EVERY_RUN = ("perplexity", *SHARED)

Count = Annotated[int, Field(gt=0)]


class Model(Strict):
    """One architecture: its depths, what it needs besides the shared sizes, and a learning rate of its own.

    `data`: how many times the others' steps it is trained for, a training each.
    """

    depths: list[Count] = Field(min_length=1)
    data: list[Count] = Field(default=[1], min_length=1)
    hyperparameters: dict[str, Any] = Field(default={})
    learning_rate: float | None = Field(default=None, gt=0)


class Settings(Strict):
    """What all share. `steps` of `batch_size` sequences of `context` tokens."""

    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    steps: int = Field(gt=0)
    context: int = Field(gt=0)
    d_model: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    validation_tokens: int = Field(gt=0)
    models: dict[str, Model] = Field(min_length=1)
    optimiser: RelativeOptimiser

    @field_validator("models")
    @classmethod
    def _known(cls, models: dict[str, Model]) -> dict[str, Model]:
        refuse_unknown_names("architecture", models, REGISTRY)
        return models


def runs(settings: Settings, study: NeuronSettings, context: Context) -> list[Run]:
    """Seed after seed, at equal data first."""
    multiples = sorted({data for model in settings.models.values() for data in model.data})
    return [
        _run(settings, study, context, architecture, depth, data, seed)
        for seed in settings.seeds
        for data in multiples
        for architecture, model in settings.models.items()
        for depth in model.depths
        if data in model.data
    ]


def _run(
    settings: Settings,
    study: NeuronSettings,
    context: Context,
    architecture: str,
    depth: int,
    data: int,
    seed: int,
) -> Run:
    model, corpus, steps = settings.models[architecture], study.corpus, data * settings.steps
    sizes = {"context": settings.context, "d_model": settings.d_model, "n_blocks": depth}
    return Run(
        study="language",
        name=f"{architecture}-blocks{depth}-data{data}-{corpus}",
        labels={"model": architecture, "part": "perplexity", "corpus": corpus, "data": data, **sizes},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(corpus), **sizes, **model.hyperparameters},
        task="next-token",
        task_parameters={
            "context": settings.context,
            "batch_size": settings.batch_size,
            "validation_tokens": settings.validation_tokens,
        },
        corpus=corpus,
        tokens=context.tokens(corpus),
        corpus_settings=context.corpus_settings(corpus),
        optimiser=settings.optimiser.of(steps, model.learning_rate).model_dump(),
        steps=steps,
        seed=seed,
        measures=OF_EVERY_RUN,
        **study.machine(context.device),
    )
