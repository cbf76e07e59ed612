"""Runs on strings: the comparison of architectures, the ablations of CausalRN, sweeps, and the grid that maps them."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from allmlp.common.schema import Hyperparameters, StrictModel, refuse_unknown_names
from allmlp.measurements import search_losses
from allmlp.models import REGISTRY
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import (
    Count,
    Optimiser,
    Rate,
    Seeds,
    StudySettings,
    WidenedSearch,
    check_architectures,
    refuse_searched_seeds,
)

VOCABULARY = 29  # BOS, SEP, EOS and 26 letters (002), as in the task (tested)
OF_EVERY_STRING_RUN = ("falls", *SHARED)
CURVES_OF = ("comparison", "long", "ablation")
PUBLISHED = "published"  # the label `variant` of a model that is not changed
OF_PART = {"search": SHARED, "stability": ("rises", *SHARED)}
OF_CURVES = ("greedy_decoding", "iterations_to_99", "learning_curve", *OF_EVERY_STRING_RUN)


STABILITY = "no-post-norm"  # the ablation whose jumps 002-1 compares with those of the published CausalRN


class Model(StrictModel):
    """One architecture of the comparison: its hyperparameters besides the shared sizes, and its own learning rate."""

    hyperparameters: Hyperparameters = Field(default={})
    learning_rate: Rate | None = None


Models = Annotated[dict[str, Model], Field(min_length=1), AfterValidator(check_architectures)]


class LongStrings(StrictModel):
    """Longer strings than in the judged comparison: fewer seeds, a separate budget."""

    string_lengths: list[Count] = Field(min_length=1)
    seeds: Seeds
    steps: Count


class Ablations(StrictModel):
    """CausalRN with one part changed, with the length and seeds of the comparison's CausalRN (002-1 to -3)."""

    string_length: Count
    variants: list[str] | None = Field(default=None, description="names of `variants`; null: all of them")
    seeds: Seeds


class Stability(StrictModel):
    """Further seeds of the published CausalRN and of the one without the norm after the reduction, at the ablations'
    string length: whether a training jumps is one bit a seed (002-1)."""

    seeds: Seeds


class Sweep(StrictModel):
    """Other learning rates of `models`, and other numbers of the Transformer's heads, on separate seeds (002-10)."""

    string_length: Count
    models: list[str] = Field(min_length=1)
    learning_rates: list[Rate] = Field(min_length=1)
    n_heads: list[Count] = Field(min_length=1)
    seeds: Seeds
    steps: Count


class Grid(StrictModel):
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
    variants: dict[str, Hyperparameters] = Field(default={})
    long: LongStrings | None = None
    ablations: Ablations | None = None
    stability: Stability | None = None
    search: WidenedSearch | None = Field(
        default=None, description="a rate of its own for each model and length of the comparison, and for each ablation"
    )
    sweep: Sweep | None = None
    grid: Grid | None = None

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        if self.ablations:
            refuse_unknown_names("variant", self.ablations.variants or [], self.variants)
        for part in (self.sweep, self.grid):
            if part:
                refuse_unknown_names("architecture", part.models, REGISTRY)
        further = self.stability.seeds if self.stability else []
        if self.search:
            refuse_searched_seeds(self.search.seeds, [*self.seeds, *further], "search.seeds")
            refuse_unknown_names("model or variant", self.search.further_rates, [*self.models, *self.variants])
        if further and (not self.ablations or set(further) & {*self.seeds, *self.ablations.seeds}):
            raise ValueError("stability: needs `ablations`, and seeds besides theirs and the comparison's")
        return self


class Training(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    part: str
    name: str
    steps: int
    model: str
    string_length: int
    d_model: int
    n_blocks: int
    learning_rate: float
    options: dict[str, Any]
    variant: str = PUBLISHED

    @property
    def searched_name(self) -> str:
        """Its name in `further_rates`: that of an ablation's variant, or of the model."""
        return self.model if self.variant == PUBLISHED else self.variant

    def run(self, settings: StringSettings, context: Context, seed: int, search: tuple[str, ...] = ()) -> Run:
        """The training with one seed. A search by iterations to 99 % ends a run where it gets there."""
        criterion = (settings.search and settings.search.criterion) or ""
        until = search_losses.ARRIVED if self.part == "search" and criterion == search_losses.ITERATIONS else None
        length, sizes = self.string_length, {"d_model": self.d_model, "n_blocks": self.n_blocks}
        measures: tuple[str, ...] = OF_CURVES if self.part in CURVES_OF else OF_EVERY_STRING_RUN
        if self.part in OF_PART:
            measures = OF_PART[self.part]
        elif self._is_stability_run(settings, seed):
            measures = (*measures, "rises")
        if until is not None:
            measures = (search_losses.FALLS, *measures)
        return Run(
            study="copying",
            name=self.name,
            labels={
                "model": self.model,
                "part": self.part,
                "variant": self.variant,
                "string_length": length,
                **sizes,
                "learning_rate": self.learning_rate,
                "n_heads": self.options.get("n_heads", 1),
            },
            architecture=self.model,
            hyperparameters={"vocabulary": VOCABULARY, "context": 2 * length + 2, **sizes, **self.options},
            task="copying",
            task_parameters={"string_length": length, "batch_size": settings.batch_size},
            optimiser={**settings.optimiser.model_dump(), "learning_rate": self.learning_rate},
            steps=self.steps,
            seed=seed,
            measures=measures,
            search=search,
            criterion=criterion if search else "",
            until=until,
            **settings.machine(context.device),
        )

    def _is_stability_run(self, settings: StringSettings, seed: int) -> bool:
        """Is it a run without the norm after the reduction, or the published CausalRN beside one?"""
        ablations = settings.ablations
        if ablations is None or STABILITY not in (ablations.variants or settings.variants):
            return False
        beside = self.part == "comparison" and self.model == "causal-rn"
        beside = beside and self.string_length == ablations.string_length and seed in ablations.seeds
        return beside or (self.part == "ablation" and self.variant == STABILITY)


def runs(settings: StringSettings, context: Context) -> list[Run]:
    """Every training on strings, the comparison's longest strings first."""
    found = list(_searches(settings, context))
    for training, seed in (*_comparison(settings), *_ablations(settings), *_stability(settings)):
        search = tuple(run.id for run in _search(settings, context, training))
        found.append(training.run(settings, context, seed, search))
    others = [*_long_strings(settings), *_sweep(settings), *_grid(settings)]
    return found + [training.run(settings, context, seed) for training, seed in others]


def _training(settings: StringSettings, part: str, model: str, length: int, steps: int | None = None) -> Training:
    own = settings.models.get(model, Model())
    rate, steps = own.learning_rate or settings.optimiser.learning_rate, steps or settings.steps
    size = settings.d_model, settings.n_blocks
    return Training(part, f"{model}-string{length}", steps, model, length, *size, rate, own.hyperparameters)


def _search(settings: StringSettings, context: Context, training: Training) -> Iterator[Run]:
    """A run per seed of the search and learning rate; none where this scale does not search."""
    if search := settings.search:
        searching = training._replace(part="search", steps=search.steps)
        for seed, rate in search.settings_of(training.searched_name):
            of_rate = searching._replace(name=f"{training.name}-rate{rate:g}", learning_rate=rate)
            yield of_rate.run(settings, context, seed)


def _searches(settings: StringSettings, context: Context) -> Iterator[Run]:
    for length, model in product(settings.string_lengths, settings.models):
        yield from _search(settings, context, _training(settings, "comparison", model, length))
    for training in _variants(settings):
        yield from _search(settings, context, training)


Trainings = Iterator[tuple[Training, int]]  # each with a seed


def _comparison(settings: StringSettings) -> Trainings:
    for length, model in product(sorted(settings.string_lengths, reverse=True), settings.models):
        yield from ((_training(settings, "comparison", model, length), seed) for seed in settings.seeds)


def _variants(settings: StringSettings) -> Iterator[Training]:
    if ablations := settings.ablations:
        length = ablations.string_length
        base = _training(settings, "ablation", "causal-rn", length)
        for variant in ablations.variants or settings.variants:
            options = {**base.options, **settings.variants[variant]}
            yield base._replace(name=f"causal-rn-{variant}-string{length}", options=options, variant=variant)


def _ablations(settings: StringSettings) -> Trainings:
    for training in _variants(settings):
        yield from ((training, seed) for seed in (settings.ablations.seeds if settings.ablations else ()))


def _stability(settings: StringSettings) -> Trainings:
    if settings.stability and settings.ablations:
        published = _training(settings, "comparison", "causal-rn", settings.ablations.string_length)
        compared = [published, *(one for one in _variants(settings) if one.variant == STABILITY)]
        for training, seed in product(compared, settings.stability.seeds):
            yield training._replace(part="stability"), seed


def _long_strings(settings: StringSettings) -> Trainings:
    if long := settings.long:
        for length, model, seed in product(long.string_lengths, settings.models, long.seeds):
            yield _training(settings, "long", model, length, long.steps), seed


def _sweep(settings: StringSettings) -> Trainings:
    if not (sweep := settings.sweep):
        return
    length, steps = sweep.string_length, sweep.steps
    for model, rate, seed in product(sweep.models, sweep.learning_rates, sweep.seeds):
        training = _training(settings, "sweep", model, length, steps)
        yield training._replace(name=f"{model}-rate{rate:g}-string{length}", learning_rate=rate), seed
    base = _training(settings, "heads", "transformer", length, steps)
    for heads, seed in product(sweep.n_heads, sweep.seeds):  # one head is the sweep's own, at the common rate
        name, options = f"transformer-heads{heads}-string{length}", {**base.options, "n_heads": heads}
        yield base._replace(name=name, options=options), seed


def _grid(settings: StringSettings) -> Trainings:
    if grid := settings.grid:
        for d, blocks, rate, model in product(grid.d_model, grid.n_blocks, grid.learning_rates, grid.models):
            training = _training(settings, "grid", model, grid.string_length, grid.steps)
            name = f"{model}-d{d}-blocks{blocks}-rate{rate:g}-string{grid.string_length}"
            training = training._replace(name=name, d_model=d, n_blocks=blocks, learning_rate=rate)
            yield from ((training, seed) for seed in grid.seeds)
