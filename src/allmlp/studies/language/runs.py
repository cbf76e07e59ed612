"""Runs of study 000's neuron slice: the last-token MLP on a corpus, weights kept while it learns."""

from typing import TYPE_CHECKING

from pydantic import Field

from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED, names
from allmlp.studies.settings import StudySettings

if TYPE_CHECKING:
    from allmlp.plan import Context


class Settings(StudySettings):
    """The MLP's sizes: context T, embedding d, hidden width w; `embedding_std` of the initial embeddings."""

    corpus: str
    context: int = Field(gt=0)
    d_model: int = Field(gt=0)
    d_mlp: int = Field(gt=0)
    n_blocks: int = Field(gt=0)
    embedding_std: float | None = Field(default=None, gt=0)
    batch_size: int = Field(gt=0)


def runs(settings: Settings, context: "Context") -> list[Run]:
    """One run per seed."""
    sizes = {
        "context": settings.context,
        "d_model": settings.d_model,
        "d_mlp": settings.d_mlp,
        "n_blocks": settings.n_blocks,
    }
    return [
        Run(
            study="language",
            name=f"mlp-d{settings.d_model}-w{settings.d_mlp}-{settings.corpus}",
            labels={
                "model": "mlp",
                "corpus": settings.corpus,
                "d_model": settings.d_model,
                "d_mlp": settings.d_mlp,
                "context": settings.context,
            },
            architecture="mlp",
            hyperparameters={
                "vocabulary": context.vocabulary(settings.corpus),
                **sizes,
                "embedding_std": settings.embedding_std,
            },
            task="last-token",
            task_parameters={"context": settings.context, "batch_size": settings.batch_size},
            corpus=settings.corpus,
            tokens=context.tokens(settings.corpus),
            corpus_settings=context.corpus_settings(settings.corpus),
            optimiser=settings.optimiser.model_dump(),
            steps=settings.steps,
            seed=seed,
            measures=(*names("language", "measures"), *SHARED),
            keep=log_spaced(settings.steps),
            **settings.machine(context.device),
        )
        for seed in settings.seeds
    ]
