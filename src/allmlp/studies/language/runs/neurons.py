"""The run for the study of neurons, the last-token MLP, with one thing changed, and what all last-token runs share."""

from dataclasses import replace
from itertools import product
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from allmlp.common.schema import StrictModel
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run, log_spaced_steps
from allmlp.spec.settings import Count, Optimiser, Rate, Seeds, StudySettings
from allmlp.studies.language.names import CONTROL, NEURONS, VARIATION, corpus_controls
from allmlp.studies.shared.texts import corpus_fields


def last_token_run(
    study: StudySettings,
    context: Context,
    *,
    name: str,
    labels: dict[str, str | int | float],
    architecture: str,
    sizes: dict[str, Any],
    corpus: str,
    batch_size: int,
    optimiser: Optimiser,
    steps: int,
    seed: int,
    measures: tuple[str, ...],
    keep: tuple[int, ...] = (),
) -> Run:
    """A run. `sizes`: the architecture's hyperparameters without the vocabulary; `study`: the settings of the
    machine."""
    return Run(
        study="language",
        name=name,
        labels={"model": architecture, "corpus": corpus, **labels},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(corpus), **sizes},
        task="last-token",
        task_parameters={"context": sizes["context"], "batch_size": batch_size},
        **corpus_fields(context, corpus),
        optimiser=optimiser.model_dump(),
        steps=steps,
        seed=seed,
        measures=measures,
        keep=keep,
        **study.machine(context.device),
    )


OF_EVERY_MLP = ("concentration", "loss_curve", "neuron_classes", *SHARED)  # shares over training, one row per kept step
OF_NEURONS = (
    "class_energies",
    "energy_map",
    "example_neurons",
    "explained_energy",
    "keywords",
    "l1_l2",
    "row_norms",
    "thresholds",
    *OF_EVERY_MLP,
)
OF_MAPPED = ("weight_maps", *OF_NEURONS)


class NeuronSettings(StudySettings):
    """The MLP's sizes: context T, embedding d, hidden width w; `embedding_std` of the initial embeddings.

    `mapped`: of how many seeds, from the first, weights of neurons are recorded over training. Runs without checkpoints
    are trained again for it.
    """

    corpus: str
    context: Count
    d_model: Count
    d_mlp: Count
    n_blocks: Count
    embedding_std: float | None = Field(default=None, gt=0)
    batch_size: Count
    optimiser: Optimiser
    mapped: int = Field(default=0, ge=0)

    @property
    def sizes(self) -> dict[str, int | float | None]:
        """The MLP's hyperparameters without the vocabulary."""
        names = ("context", "d_model", "d_mlp", "n_blocks", "embedding_std")
        return {name: getattr(self, name) for name in names}


def runs(settings: NeuronSettings, context: Context) -> list[Run]:
    """One run per seed."""
    return [
        last_token_run(
            settings,
            context,
            name=f"mlp-d{settings.d_model}-w{settings.d_mlp}-{settings.corpus}",
            labels={"part": NEURONS, **{name: getattr(settings, name) for name in ("d_model", "d_mlp", "context")}},
            architecture="mlp",
            sizes=settings.sizes,
            corpus=settings.corpus,
            batch_size=settings.batch_size,
            optimiser=settings.optimiser,
            steps=settings.steps,
            seed=seed,
            measures=OF_MAPPED if place < settings.mapped else OF_NEURONS,
            keep=log_spaced_steps(settings.steps),
        )
        for place, seed in enumerate(settings.seeds)
    ]


WITHOUT_TRAINING = ("constructed_neurons", "context_parameters", "dct_identities")
SMALLEST = {"context": 15, "d_model": 8, "d_mlp": 8, "n_blocks": 1}  # the measure does not depend on it


def untrained_run(settings: NeuronSettings, context: Context) -> Run:
    """A small MLP of no training steps: what no training alters is measured of it, once (000-14, -18, -19)."""
    found = last_token_run(
        settings,
        context,
        name="mlp-untrained",
        labels={"part": "untrained"},
        architecture="mlp",
        sizes=dict(SMALLEST),
        corpus=settings.corpus,
        batch_size=1,
        optimiser=Optimiser(learning_rate=1.0),  # not used, and its settings do not change the id
        steps=0,
        seed=0,
        measures=WITHOUT_TRAINING,
    )
    return replace(found, precision="float32", compile=False, device="cpu")


UNIT = 1.0  # the standard deviation of PyTorch's own initial embeddings, chosen by `null`


class Grid(StrictModel):
    """Every weight decay with every standard deviation of the initial embeddings (null: PyTorch's 1)."""

    weight_decay: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    embedding_std: list[Rate | None] = Field(min_length=1)


class VariationSettings(StrictModel):
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


def variations(settings: VariationSettings, study: NeuronSettings, context: Context) -> list[Run]:
    """Seed after seed, each with the base and all variations, so that a first seed covers everything."""
    base = Variation(study.corpus, study.context, study.d_mlp, settings.optimiser.weight_decay, study.embedding_std)
    varied = list(dict.fromkeys([base, *_variations(settings, base)]))
    return [
        _variation_run(settings, study, context, variation, seed) for seed in settings.seeds for variation in varied
    ]


def _variations(settings: VariationSettings, base: Variation) -> list[Variation]:
    grid = product(settings.grid.weight_decay, settings.grid.embedding_std) if settings.grid else ()
    return [
        *(base._replace(corpus=corpus) for corpus in settings.controls if corpus in corpus_controls(base.corpus)),
        *(base._replace(weight_decay=decay, embedding_std=std) for decay, std in grid),
        *(base._replace(context=length) for length in settings.contexts),
        *(base._replace(d_mlp=width) for width in settings.d_mlp),
    ]


def _variation_run(
    settings: VariationSettings, study: NeuronSettings, context: Context, variation: Variation, seed: int
) -> Run:
    varied = {name: getattr(variation, name) for name in ("context", "d_mlp", "embedding_std")}
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
        sizes={**study.sizes, **varied},
        corpus=variation.corpus,
        batch_size=settings.batch_size,
        optimiser=settings.optimiser.model_copy(update={"weight_decay": variation.weight_decay}),
        steps=settings.steps,
        seed=seed,
        measures=OF_EVERY_MLP,
        keep=log_spaced_steps(settings.steps, settings.kept_per_decade),
    )
