"""Runs on strings: the comparison of architectures, the ablations of CausalRN, sweeps, and the grid that maps them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from allmlp.models import REGISTRY
from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.strict import Strict, refuse_unknown_names
from allmlp.studies import SHARED
from allmlp.studies.settings import (
    Count,
    LearningRateSearch,
    Optimiser,
    Rate,
    Seeds,
    StudySettings,
    known_architectures,
    refuse_searched_seeds,
)

VOCABULARY = 29  # BOS, SEP, EOS and 26 letters (002), as in the task (tested)
OF_EVERY_STRING_RUN = ("falls", *SHARED)
CURVES_OF = ("comparison", "long", "ablation")
OF_CURVES = ("greedy_decoding", "iterations_to_99", "learning_curve", *OF_EVERY_STRING_RUN)


class Model(Strict):
    """One architecture of the comparison: its hyperparameters besides the shared sizes, and its own learning rate."""

    hyperparameters: dict[str, Any] = Field(default={})
    learning_rate: Rate | None = None


Models = Annotated[dict[str, Model], Field(min_length=1), AfterValidator(known_architectures)]


class LongStrings(Strict):
    """Longer strings than in the judged comparison: fewer seeds, a separate budget."""

    string_lengths: list[Count] = Field(min_length=1)
    seeds: Seeds
    steps: Count


class Ablations(Strict):
    """CausalRN with one part changed, with the length and seeds of the comparison's CausalRN (002-1 to -3)."""

    string_length: Count
    variants: list[str] | None = Field(default=None, description="names of `variants`; null: all of them")
    seeds: Seeds


class Sweep(Strict):
    """Other learning rates of `models`, and other numbers of the Transformer's heads, on separate seeds (002-10)."""

    string_length: Count
    models: list[str] = Field(min_length=1)
    learning_rates: list[Rate] = Field(min_length=1)
    n_heads: list[Count] = Field(min_length=1)
    seeds: Seeds
    steps: Count


class Grid(Strict):
    """Every width with every depth and learning rate: where CausalRN is faster than the Transformer."""

    string_length: Count
    models: list[str] = Field(min_length=1)
    d_model: list[Count] = Field(min_length=1)
    n_blocks: list[Count] = Field(min_length=1)
    learning_rates: list[Rate] = Field(min_length=1)
    seeds: Seeds
    steps: Count


class StringSettings(StudySettings):
    """Sizes shared by all models; `models`: architecture -> its own settings; `variants` of CausalRN by name."""

    string_lengths: list[Count] = Field(min_length=1)
    batch_size: Count
    d_model: Count
    n_blocks: Count
    optimiser: Optimiser
    models: Models
    variants: dict[str, dict[str, Any]] = Field(default={})
    long: LongStrings | None = None
    ablations: Ablations | None = None
    search: LearningRateSearch | None = Field(
        default=None, description="a rate of its own for each model and length of the comparison, which ablations share"
    )
    sweep: Sweep | None = None
    grid: Grid | None = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.ablations:
            refuse_unknown_names("variant", self.ablations.variants or [], self.variants)
        for part in (self.sweep, self.grid):
            if part:
                refuse_unknown_names("architecture", part.models, REGISTRY)
        if self.search:
            refuse_searched_seeds(self.search.seeds, self.seeds, "search.seeds")
        return self


class Network(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    model: str
    string_length: int
    d_model: int
    n_blocks: int
    learning_rate: float
    options: dict[str, Any]


def runs(settings: StringSettings, context: Context) -> list[Run]:
    """Every training on strings, the comparison's longest strings first."""
    return [
        *_searches(settings, context),
        *_comparison(settings, context),
        *_ablations(settings, context),
        *_long(settings, context),
        *_sweep(settings, context),
        *_grid(settings, context),
    ]


def _network(settings: StringSettings, model: str, length: int) -> Network:
    own = settings.models.get(model, Model())
    rate = own.learning_rate or settings.optimiser.learning_rate
    return Network(model, length, settings.d_model, settings.n_blocks, rate, own.hyperparameters)


def _search(settings: StringSettings, context: Context, model: str, length: int) -> Iterator[Run]:
    """A run per seed of the search and learning rate; none where this scale does not search."""
    if search := settings.search:
        for seed, rate in search.settings():
            network = _network(settings, model, length)._replace(learning_rate=rate)
            name = f"{model}-string{length}-rate{rate:g}"
            yield _run(settings, context, "search", network, seed, search.steps, name)


def _searches(settings: StringSettings, context: Context) -> Iterator[Run]:
    for length, model in product(settings.string_lengths, settings.models):
        yield from _search(settings, context, model, length)


def _comparison(settings: StringSettings, context: Context) -> Iterator[Run]:
    for length in sorted(settings.string_lengths, reverse=True):
        for model in settings.models:
            network, name = _network(settings, model, length), f"{model}-string{length}"
            search = tuple(run.id for run in _search(settings, context, model, length))
            for seed in settings.seeds:
                yield replace(_run(settings, context, "comparison", network, seed, settings.steps, name), search=search)


def _long(settings: StringSettings, context: Context) -> Iterator[Run]:
    if long := settings.long:
        for length, model, seed in product(long.string_lengths, settings.models, long.seeds):
            network = _network(settings, model, length)
            yield _run(settings, context, "long", network, seed, long.steps, f"{model}-string{length}")


def _ablations(settings: StringSettings, context: Context) -> Iterator[Run]:
    if ablations := settings.ablations:
        base = _network(settings, "causal-rn", ablations.string_length)
        search = tuple(run.id for run in _search(settings, context, "causal-rn", ablations.string_length))
        for variant, seed in product(ablations.variants or settings.variants, ablations.seeds):
            network = base._replace(options={**base.options, **settings.variants[variant]})
            name = f"causal-rn-{variant}-string{base.string_length}"
            run = _run(settings, context, "ablation", network, seed, settings.steps, name, variant)
            yield replace(run, search=search)


def _sweep(settings: StringSettings, context: Context) -> Iterator[Run]:
    if not (sweep := settings.sweep):
        return
    length, steps = sweep.string_length, sweep.steps
    for model, rate, seed in product(sweep.models, sweep.learning_rates, sweep.seeds):
        network = _network(settings, model, length)._replace(learning_rate=rate)
        yield _run(settings, context, "sweep", network, seed, steps, f"{model}-rate{rate:g}-string{length}")
    base = _network(settings, "transformer", length)
    for heads, seed in product(sweep.n_heads, sweep.seeds):  # one head is the sweep's own, at the common rate
        network = base._replace(options={**base.options, "n_heads": heads})
        yield _run(settings, context, "heads", network, seed, steps, f"transformer-heads{heads}-string{length}")


def _grid(settings: StringSettings, context: Context) -> Iterator[Run]:
    if not (grid := settings.grid):
        return
    for d, blocks, rate, model in product(grid.d_model, grid.n_blocks, grid.learning_rates, grid.models):
        network = _network(settings, model, grid.string_length)
        network = network._replace(d_model=d, n_blocks=blocks, learning_rate=rate)
        name = f"{model}-d{d}-blocks{blocks}-rate{rate:g}-string{grid.string_length}"
        for seed in grid.seeds:
            yield _run(settings, context, "grid", network, seed, grid.steps, name)


def _run(
    settings: StringSettings,
    context: Context,
    part: str,
    network: Network,
    seed: int,
    steps: int,
    name: str,
    variant: str = "published",
) -> Run:
    model, length, d_model, n_blocks, rate, options = network
    labels = {
        "model": model,
        "part": part,
        "variant": variant,
        "string_length": length,
        "d_model": d_model,
        "n_blocks": n_blocks,
        "learning_rate": rate,
        "n_heads": options.get("n_heads", 1),
    }
    sizes = {"vocabulary": VOCABULARY, "context": 2 * length + 2, "d_model": d_model, "n_blocks": n_blocks}
    return Run(
        study="copying",
        name=name,
        labels=labels,
        architecture=model,
        hyperparameters={**sizes, **options},
        task="copying",
        task_parameters={"string_length": length, "batch_size": settings.batch_size},
        optimiser={**settings.optimiser.model_dump(), "learning_rate": rate},
        steps=steps,
        seed=seed,
        measures=SHARED if part == "search" else OF_CURVES if part in CURVES_OF else OF_EVERY_STRING_RUN,
        **settings.machine(context.device),
    )
