"""Runs that predict every next token: DCT-MLPs beside GPT-2s of several depths, and with more data (000-13)."""

from typing import Annotated

from pydantic import AfterValidator, Field

from allmlp.common.schema import Hyperparameters, StrictModel
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import Count, Rate, RelativeOptimiser, Seeds, check_architectures
from allmlp.studies.language.runs.neurons import NeuronSettings
from allmlp.studies.shared.texts import next_token

OF_EVERY_RUN = ("perplexity", *SHARED)


class Model(StrictModel):
    """One architecture: its depths, its hyperparameters besides the shared sizes, and its own learning rate.

    `data`: multiples of the common number of steps, with one training each.
    """

    depths: list[Count] = Field(min_length=1)
    data: list[Count] = Field(default=[1], min_length=1)
    hyperparameters: Hyperparameters = Field(default={})
    learning_rate: Rate | None = None


class Settings(StrictModel):
    """Settings shared by all runs. `steps` of `batch_size` sequences of `context` tokens."""

    seeds: Seeds
    steps: Count
    context: Count
    d_model: Count
    batch_size: Count
    validation_tokens: Count
    models: Annotated[dict[str, Model], Field(min_length=1), AfterValidator(check_architectures)]
    optimiser: RelativeOptimiser


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
    settings: Settings, study: NeuronSettings, context: Context, architecture: str, depth: int, data: int, seed: int
) -> Run:
    model, corpus, steps = settings.models[architecture], study.corpus, data * settings.steps
    sizes = {"context": settings.context, "d_model": settings.d_model, "n_blocks": depth}
    return Run(
        study="language",
        name=f"{architecture}-blocks{depth}-data{data}-{corpus}",
        labels={"model": architecture, "part": "perplexity", "corpus": corpus, "data": data, **sizes},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(corpus), **sizes, **model.hyperparameters},
        **next_token(settings, context, corpus),
        optimiser=settings.optimiser.optimiser_for(steps, model.learning_rate).model_dump(),
        steps=steps,
        seed=seed,
        measures=OF_EVERY_RUN,
        **study.machine(context.device),
    )
