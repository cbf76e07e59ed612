"""The run for the study of neurons: the last-token MLP, with weights kept during training."""

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED
from allmlp.studies.language.runs.last_token import last_token_run
from allmlp.studies.settings import Count, Optimiser, StudySettings

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
