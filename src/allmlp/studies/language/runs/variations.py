"""The neurons' MLP with one thing changed: context, width, decay and first embeddings, corpus (000-15, own claims)."""

from typing import Annotated, Any, NamedTuple

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.strict import Strict
from allmlp.studies.language.parts import CONTROL, VARIATION, controls_of
from allmlp.studies.language.runs.neurons import OF_EVERY_MLP, NeuronSettings, last_token_run
from allmlp.studies.settings import Count, Optimiser, Rate, Seeds

UNIT = 1.0  # the standard deviation of PyTorch's own initial embeddings, chosen by `null`


class Grid(Strict):
    """Every weight decay with every standard deviation of the initial embeddings (null: PyTorch's 1)."""

    weight_decay: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    embedding_std: list[Rate | None] = Field(min_length=1)


class Settings(Strict):
    """One base, the neurons' MLP with this batch, budget and optimiser; each list varies it in one respect.

    `controls`: shuffled versions of the study's corpus, `<corpus>-sentences` and `<corpus>-words`. Controls of other
    corpora are left out; an overlay may have chosen another corpus.
    """

    seeds: Seeds
    steps: Count
    batch_size: Count
    optimiser: Optimiser
    contexts: list[Count] = Field(default=[])
    d_mlp: list[Count] = Field(default=[])
    grid: Grid | None = None
    controls: list[str] = Field(default=[])
    kept_per_decade: int = Field(default=2, gt=0)


class Variation(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    corpus: str
    context: int
    d_mlp: int
    weight_decay: float
    embedding_std: float | None


def runs(settings: Settings, study: NeuronSettings, context: Context) -> list[Run]:
    """Seed after seed, each with the base and all variations, so that a first seed covers everything."""
    base = Variation(study.corpus, study.context, study.d_mlp, settings.optimiser.weight_decay, study.embedding_std)
    varied = list(dict.fromkeys([base, *_variations(settings, base)]))
    return [_run(settings, study, context, variation, seed) for seed in settings.seeds for variation in varied]


def _variations(settings: Settings, base: Variation) -> list[Variation]:
    grid = settings.grid
    return [
        *(base._replace(corpus=corpus) for corpus in settings.controls if corpus in controls_of(base.corpus)),
        *(
            base._replace(weight_decay=decay, embedding_std=std)
            for decay in (grid.weight_decay if grid else [])
            for std in (grid.embedding_std if grid else [])
        ),
        *(base._replace(context=length) for length in settings.contexts),
        *(base._replace(d_mlp=width) for width in settings.d_mlp),
    ]


def _run(settings: Settings, study: NeuronSettings, context: Context, variation: Variation, seed: int) -> Run:
    sizes: dict[str, Any] = {
        **study.sizes,
        "context": variation.context,
        "d_mlp": variation.d_mlp,
        "embedding_std": variation.embedding_std,
    }
    std = UNIT if variation.embedding_std is None else variation.embedding_std
    what = f"t{variation.context}-w{variation.d_mlp}-decay{variation.weight_decay:g}-std{std:g}"
    return last_token_run(
        study,
        context,
        name=f"mlp-d{study.d_model}-{what}-{variation.corpus}",
        labels={
            "part": VARIATION if variation.corpus == study.corpus else CONTROL,
            "d_model": study.d_model,
            "d_mlp": variation.d_mlp,
            "context": variation.context,
            "weight_decay": variation.weight_decay,
            "embedding_std": std,
            "base_corpus": study.corpus,
            "base_context": study.context,
            "base_d_mlp": study.d_mlp,
            "base_weight_decay": settings.optimiser.weight_decay,
            "base_embedding_std": UNIT if study.embedding_std is None else study.embedding_std,
        },
        architecture="mlp",
        sizes=sizes,
        corpus=variation.corpus,
        batch_size=settings.batch_size,
        optimiser=settings.optimiser.model_copy(update={"weight_decay": variation.weight_decay}),
        steps=settings.steps,
        seed=seed,
        measures=OF_EVERY_MLP,
        keep=log_spaced(settings.steps, settings.kept_per_decade),
    )
