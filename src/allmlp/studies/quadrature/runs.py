"""Runs of study 003: addition modulo p with constant attention 1/2, at the paper's own size."""

from typing import TYPE_CHECKING

from pydantic import Field

from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED, names
from allmlp.studies.settings import StudySettings

if TYPE_CHECKING:
    from allmlp.plan import Context


class Settings(StudySettings):
    """p and widths as the paper's (E003, decided settings); the loss in float64, or it underflows to exactly 0."""

    p: int = Field(gt=2)
    d_model: int = Field(gt=0)
    n_heads: int = Field(gt=0)
    d_mlp: int = Field(ge=4)
    train_share: float = Field(gt=0, le=1)


def runs(settings: Settings, context: "Context") -> list[Run]:
    """One run per seed."""
    hyperparameters = {
        "vocabulary": settings.p,
        "d_model": settings.d_model,
        "n_heads": settings.n_heads,
        "d_mlp": settings.d_mlp,
    }
    return [
        Run(
            study="quadrature",
            name=f"constant-attention-p{settings.p}-w{settings.d_mlp}",
            labels={"model": "constant-attention", "p": settings.p, "d_mlp": settings.d_mlp},
            architecture="constant-attention",
            hyperparameters=hyperparameters,
            task="modular-addition",
            task_parameters={"p": settings.p, "train_share": settings.train_share},
            optimiser=settings.optimiser.model_dump(),
            steps=settings.steps,
            seed=seed,
            measures=(*names("quadrature", "measures"), *SHARED),
            keep=log_spaced(settings.steps, per_decade=2),
            loss_dtype="float64",
            **settings.machine(context.device),
        )
        for seed in settings.seeds
    ]
