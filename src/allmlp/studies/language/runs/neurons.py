"""The run for the study of neurons, the last-token MLP, and the common part of every last-token run of study 000."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED
from allmlp.studies.settings import Count, Optimiser, StudySettings
from allmlp.studies.texts import of_corpus


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
        **of_corpus(context, corpus),
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


class NeuronSettings(StudySettings):
    """The MLP's sizes: context T, embedding d, hidden width w; `embedding_std` of the initial embeddings."""

    corpus: str
    context: Count
    d_model: Count
    d_mlp: Count
    n_blocks: Count
    embedding_std: float | None = Field(default=None, gt=0)
    batch_size: Count
    optimiser: Optimiser

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
            labels={
                "part": "neurons",
                "d_model": settings.d_model,
                "d_mlp": settings.d_mlp,
                "context": settings.context,
            },
            architecture="mlp",
            sizes=settings.sizes,
            corpus=settings.corpus,
            batch_size=settings.batch_size,
            optimiser=settings.optimiser,
            steps=settings.steps,
            seed=seed,
            measures=OF_NEURONS,
            keep=log_spaced(settings.steps),
        )
        for seed in settings.seeds
    ]


WITHOUT_TRAINING = ("constructed_neurons", "context_parameters", "dct_identities")
SMALLEST = {"context": 15, "d_model": 8, "d_mlp": 8, "n_blocks": 1}  # the measure does not depend on it


def untrained(settings: NeuronSettings, context: Context) -> Run:
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
