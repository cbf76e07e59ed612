"""What trained models keep of their input, and what they write: measures of the comparison's own runs (001-28, 001-29).

Trained models are those of `training.embedder`, whose runs the comparison has where it trains them. Other widths and
depths are not trained: their weights are as they begin.
"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.strict import Strict
from allmlp.studies.mixers.runs.formulae import GenerationSpeed
from allmlp.studies.mixers.runs.settings import Seed, TrainingSettings
from allmlp.studies.mixers.runs.training import embedder, searches

RECOVERY = ("recovery",)
COMPLETIONS = ("completion_samples", "completions")

Seeds = Annotated[list[Seed], Field(min_length=1)]
Sizes = list[Annotated[int, Field(gt=0)]]


class RepresentationSettings(Strict):
    """Recovery of the input: trained `models` by seed; untrained ones of other sizes by `untrained_seeds`."""

    models: list[str] = Field(min_length=1, description="names of `models`")
    seeds: Seeds
    d_model: Sizes = Field(default=[])
    n_blocks: Sizes = Field(default=[])
    untrained_seeds: Seeds = Field(default=[0])


class Completions(Strict):
    """Which trained models write on where stories of the validation split break off."""

    models: list[str] = Field(min_length=1, description="names of `models`")
    seeds: Seeds


class GenerationSettings(Strict):
    """What trained models write, and how fast untrained ones do."""

    completions: Completions | None = None
    speed: GenerationSpeed | None = None


def runs(
    representation: RepresentationSettings | None,
    generation: GenerationSettings | None,
    settings: TrainingSettings,
    context: Context,
) -> list[Run]:
    """The trained runs with these measures, the search of their rates, and the untrained ones."""
    found: list[Run] = []
    if representation:
        found += _trained(representation.models, representation.seeds, RECOVERY, settings, context)
        found += _untrained(representation, settings, context)
    if generation and (completions := generation.completions):
        found += _trained(completions.models, completions.seeds, COMPLETIONS, settings, context)
    return found


def _trained(
    models: list[str], seeds: list[int], measures: tuple[str, ...], settings: TrainingSettings, context: Context
) -> Iterator[Run]:
    for model in models:
        yield from searches(model, settings, context)
    for seed, model in product(seeds, models):
        yield embedder(model, seed, settings, context, measures=measures)


def _untrained(representation: RepresentationSettings, settings: TrainingSettings, context: Context) -> Iterator[Run]:
    sizes = [(width, settings.n_blocks) for width in representation.d_model if width != settings.d_model]
    sizes += [(settings.d_model, depth) for depth in representation.n_blocks if depth != settings.n_blocks]
    for seed, model, (width, depth) in product(representation.untrained_seeds, representation.models, sizes):
        yield embedder(model, seed, settings, context, steps=0, measures=RECOVERY, d_model=width, n_blocks=depth)
