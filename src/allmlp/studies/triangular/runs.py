"""Runs of study 004: variants of the triangular model, pre-training and fine-tuning, and measures without training."""

from collections.abc import Iterator
from itertools import chain, product
from typing import Any, Self

from pydantic import Field, model_validator

from allmlp.common.errors import UserError
from allmlp.common.schema import Hyperparameters, StrictModel, refuse_unknown_names
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import (
    Count,
    LossSearch,
    Optimiser,
    Seeds,
    StudySettings,
    WidenedSearch,
    refuse_searched_seeds,
)
from allmlp.studies.shared.texts import next_token

FINE_TUNING = "fine-tuning"  # the label `part`
PUBLISHED = "two-averaging"  # the variant that, at the printed sizes, is the paper's model of 36.3 million parameters


class Variant(StrictModel):
    """The changes of a variant to the published model. `searched_as`: another variant with the search for both."""

    hyperparameters: Hyperparameters = Field(default={})
    searched_as: str | None = None


class Pretraining(StrictModel):
    """The model as published, trained for longer on the study's corpus, with weights `kept` for samples."""

    seeds: Seeds
    steps: Count
    kept: list[Count] = Field(default=[])


class FineTuning(StrictModel):
    """Fine-tuning of a pre-trained model, and training from scratch, on a `corpus` with the first one's tokens."""

    corpus: str
    seeds: Seeds
    steps: Count
    as_long: bool = Field(
        default=False, description="train from scratch for the steps of pre-training and fine-tuning together, too"
    )


class Search(WidenedSearch, LossSearch):
    """The search of rates; `further_rates` by variants, and `fine-tuning`."""


class Settings(StudySettings):
    """`variants`: name -> what it changes; `compared`: those that this scale trains with `seeds` for `steps`."""

    corpus: str
    context: Count
    d_model: Count
    n_blocks: Count
    batch_size: Count
    validation_tokens: Count
    optimiser: Optimiser
    variants: dict[str, Variant] = Field(min_length=1)
    compared: list[str] = Field(min_length=1)
    search: Search | None = None
    pretraining: Pretraining | None = None
    fine_tuning: FineTuning | None = None

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        others = [variant.searched_as for variant in self.variants.values() if variant.searched_as]
        refuse_unknown_names("variant", [PUBLISHED, *self.compared, *others], self.variants)
        if self.fine_tuning and not self.pretraining:
            raise ValueError("fine_tuning goes on from pretraining: give both, or neither")
        continued, begun = (part.seeds if part else [] for part in (self.fine_tuning, self.pretraining))
        if late := set(continued) - set(begun):
            raise ValueError(
                f"fine_tuning.seeds {sorted(late)} are not among pretraining.seeds, whose runs they continue"
            )
        if self.search:
            further = [part.seeds for part in (self.pretraining, self.fine_tuning) if part]
            refuse_searched_seeds(self.search.seeds, {*self.seeds, *chain(*further)}, "search.seeds")
            refuse_unknown_names("variant", self.search.further_rates, [*self.variants, FINE_TUNING])
        return self


def held_out_steps(steps: int) -> tuple[int, ...]:
    """Steps at which the held-out loss is taken: eight evenly over the first quarter ("early"), six over the rest."""
    early = (steps * place // 32 for place in range(1, 9))
    later = (steps * place // 8 for place in range(3, 8))
    return tuple(sorted({*early, *later} - {0, steps}))


ARCHITECTURE = "triangular"
OF_EVERY_RUN = ("loss_curve", "learning", *SHARED)
OF_WRITERS = ("samples", *OF_EVERY_RUN)


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run in an order in which each comes after those that it needs."""
    searched: dict[str, tuple[str, ...]] = {}
    found: list[Run] = []
    for name in dict.fromkeys([*settings.compared, PUBLISHED]):
        rates = list(_search(settings, context, settings.variants[name].searched_as or name))
        searched[name] = tuple(run.id for run in rates)
        found += rates
    for name, seed in product(settings.compared, settings.seeds):
        found.append(_run(settings, context, "comparison", name, seed, settings.steps, search=searched[name]))
    return [*found, *_later_runs(settings, context, searched[PUBLISHED]), _formulae(settings)]


def _later_runs(settings: Settings, context: Context, search: tuple[str, ...]) -> Iterator[Run]:
    """Pre-training, fine-tuning, and the same steps on the second corpus alone."""
    if not (pretraining := settings.pretraining):
        return
    keep = tuple(step for step in pretraining.kept if step < pretraining.steps)
    kept: dict[str, Any] = {"search": search, "keep": keep}
    steps, parents = pretraining.steps, {}
    for seed in pretraining.seeds:
        parents[seed] = _run(settings, context, "pretraining", PUBLISHED, seed, steps, **kept)
    yield from parents.values()
    if not (second := settings.fine_tuning):
        return
    _refuse_other_tokens(settings.corpus, second.corpus, context)
    continued: dict[str, Any] = {"corpus": second.corpus, "continues": True}
    own = list(_search(settings, context, PUBLISHED, corpus=second.corpus))
    further: list[Run] = []
    for seed in settings.search.seeds if settings.search else ():
        # rates are chosen on a pre-trained model of the search's own seed
        parent = _run(settings, context, "pretraining", PUBLISHED, seed, steps, search=search, measures=())
        further += _search(settings, context, PUBLISHED, only=seed, parent=parent.id, **continued)
        yield parent
    yield from (*own, *further)
    for seed in second.seeds:
        of_alone, of_tuning = (tuple(run.id for run in found) for found in (own, further))
        alone: dict[str, Any] = {"corpus": second.corpus, "search": of_alone}
        yield _run(settings, context, "alone", PUBLISHED, seed, second.steps, **alone)
        if second.as_long:
            yield _run(settings, context, "alone-as-long", PUBLISHED, seed, steps + second.steps, **alone)
        tuning = {**continued, "parent": parents[seed].id, "search": of_tuning}
        yield _run(settings, context, FINE_TUNING, PUBLISHED, seed, second.steps, **tuning)


def _refuse_other_tokens(first: str, second: str, context: Context) -> None:
    """UserError unless both corpora have the same tokens: the fine-tuned model would otherwise misread them."""
    if not context.has_shared_tokenizer(first, second):
        teacher = context.teacher(first)
        raise UserError(
            f"fine_tuning goes on with {second!r}, whose tokens are not those of {first!r}. Name another corpus there, "
            f"or write `corpora: {{{second}: {{tokenizer: {{kind: shared, corpus: {teacher}}}}}}}` into your file.",
            "fine_tuning",
        )


def _search(
    settings: Settings, context: Context, variant: str, only: int | None = None, **changes: Any
) -> Iterator[Run]:
    """A run per seed (or of one `only`) and learning rate; none where this scale does not search."""
    if search := settings.search:
        for seed, rate in search.settings_of(FINE_TUNING if changes.get("continues") else variant):
            if only in (None, seed):
                own = {"rate": rate, "measures": SHARED, **changes}
                yield _run(settings, context, "search", variant, seed, search.steps, **own)


def _run(
    settings: Settings,
    context: Context,
    part: str,
    variant: str,
    seed: int,
    steps: int,
    *,
    corpus: str | None = None,
    rate: float | None = None,
    measures: tuple[str, ...] | None = None,
    **changes: Any,
) -> Run:
    corpus = corpus or settings.corpus
    sizes = {"context": settings.context, "d_model": settings.d_model, "n_blocks": settings.n_blocks}
    options = settings.variants[variant].hyperparameters
    rate = rate or settings.optimiser.learning_rate
    searching = part == "search"
    criterion = (settings.search and settings.search.criterion) or ""
    labels: dict[str, Any] = {"model": ARCHITECTURE, "part": part, "variant": variant, "corpus": corpus, **sizes}
    named = f"{variant}-{corpus}" if part == "comparison" else f"{variant}-{corpus}-{part}"
    named += "-continued" if searching and changes.get("continues") else ""
    writes = {"pretraining": ("milestones", *OF_WRITERS), "alone": OF_WRITERS, FINE_TUNING: OF_WRITERS}
    return Run(
        study="triangular",
        name=f"{named}-rate{rate:g}" if searching else named,
        labels=labels
        | ({"learning_rate": rate} if searching else {})
        | ({"criterion": criterion} if searching and criterion else {}),
        architecture=ARCHITECTURE,
        hyperparameters={"vocabulary": context.vocabulary(corpus), **sizes, **options},
        **next_token(settings, context, corpus),
        optimiser={**settings.optimiser.model_dump(), "learning_rate": rate},
        steps=steps,
        seed=seed,
        measures=writes.get(part, OF_EVERY_RUN) if measures is None else measures,
        tested=() if searching else held_out_steps(steps),
        **settings.machine(context.device),
        criterion=criterion if changes.get("search") else "",
        **changes,
    )


WITHOUT_TRAINING = ("causality", "parameter_counts", "reach")
SHORTEST = 4  # letters of the untrained model's task, which a run must have and no measure reads


def _formulae(settings: StudySettings) -> Run:
    """The untrained run of these measures."""
    return Run(
        study="triangular",
        name="triangular-untrained",
        labels={"model": "triangular", "part": "formulae"},
        architecture="triangular",
        hyperparameters={"vocabulary": 29, "context": 2 * SHORTEST + 2, "d_model": 12, "n_blocks": 1},
        task="copying",
        task_parameters={"string_length": SHORTEST, "batch_size": 1},
        measures=WITHOUT_TRAINING,
        **settings.untrained_settings(),
    )
