"""Runs of study 003: addition modulo p with constant attention 1/2, at the paper's own size and around it."""

from dataclasses import replace
from itertools import product
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from allmlp.common.schema import StrictModel
from allmlp.models.primes import is_odd_prime
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run, log_spaced_steps
from allmlp.spec.settings import Optimiser, StudySettings

OF_EVERY_TRAINED = ("scan", *SHARED)
OF_SEEDS = (
    "accuracy",
    "angle_controls",
    "certificate",
    "coefficients",
    "error_table",
    "identity_shares",
    "identity_spectrum",
    "neurons",
    "regressions",
    "sign_inside",
    "sums",
    *OF_EVERY_TRAINED,
)
ANGLES = 5  # of the hand-coded network; enough at the p of config/quadrature, see hand_coded_law
WITHOUT_TRAINING = ("bound_cost", "closed_forms", "hand_coded_grids", "hand_coded_law", "printed_numbers")


def _odd_prime(number: int) -> int:
    if not is_odd_prime(number):
        raise ValueError(f"{number} is not a prime above 2, and addition is modulo such a prime")
    return number


Prime = Annotated[int, AfterValidator(_odd_prime)]
Width = Annotated[int, Field(ge=4)]
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class Grid(StrictModel):
    """Every p with every width, trained for as many steps each."""

    p: list[Prime] = Field(min_length=1)
    d_mlp: list[Width] = Field(min_length=1)
    seeds: Seeds
    steps: int = Field(gt=0)


class Sweep(StrictModel):
    """Other weight decays than `optimiser.weight_decay`, all else equal."""

    weight_decay: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    seeds: Seeds


class Settings(StudySettings):
    """p and widths as in the paper (E003, decided settings). The loss is in float64, because float32 underflows to
    0."""

    p: Prime
    d_model: int = Field(gt=0)
    n_heads: int = Field(gt=0)
    d_mlp: Width
    train_share: float = Field(gt=0, le=1)
    optimiser: Optimiser
    grid: Grid | None = None
    sweep: Sweep | None = None


class Network(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    p: int
    d_mlp: int
    weight_decay: float


def runs(settings: Settings, context: Context) -> list[Run]:
    """One run per seed, the sweep over weight decay, the grid of p and width, and the hand-coded network."""
    base = Network(settings.p, settings.d_mlp, settings.optimiser.weight_decay)
    kept: dict[str, Any] = {"measures": OF_SEEDS, "keep": log_spaced_steps(settings.steps, per_decade=2)}
    found = [replace(_run(settings, context, "seeds", base, seed), **kept) for seed in settings.seeds]
    if sweep := settings.sweep:
        for decay, seed in product(sweep.weight_decay, sweep.seeds):
            found.append(_run(settings, context, "sweep", base._replace(weight_decay=decay), seed))
    if grid := settings.grid:
        for p, d_mlp, seed in product(grid.p, grid.d_mlp, grid.seeds):
            network = base._replace(p=p, d_mlp=d_mlp)
            found.append(replace(_run(settings, context, "grid", network, seed), steps=grid.steps))
    return [*found, _hand_coded(settings, context, base)]


def _run(settings: Settings, context: Context, part: str, network: Network, seed: int) -> Run:
    """One training. Only its last weights are kept and measured in one row, as a sweep or a grid needs."""
    p, d_mlp, decay = network
    other_decay = f"-wd{decay:g}" if decay != settings.optimiser.weight_decay else ""
    return Run(
        study="quadrature",
        name=f"constant-attention-p{p}-w{d_mlp}{other_decay}",
        labels={"model": "constant-attention", "part": part, "p": p, "d_mlp": d_mlp, "weight_decay": decay},
        architecture="constant-attention",
        hyperparameters={"vocabulary": p, "d_model": settings.d_model, "n_heads": settings.n_heads, "d_mlp": d_mlp},
        task="modular-addition",
        task_parameters={"p": p, "train_share": settings.train_share},
        optimiser={**settings.optimiser.model_dump(), "weight_decay": decay},
        steps=settings.steps,
        seed=seed,
        measures=OF_EVERY_TRAINED,
        loss_dtype="float64",
        **settings.machine(context.device),
    )


def _hand_coded(settings: Settings, context: Context, base: Network) -> Run:
    """The network of Appendix D.1, untrained, for measures without training."""
    like = _run(settings, context, "hand-coded", base._replace(d_mlp=ANGLES), seed=0)
    return replace(
        like,
        name=f"hand-coded-addition-p{settings.p}",
        labels={**like.labels, "model": "hand-coded-addition"},
        architecture="hand-coded-addition",
        hyperparameters={"vocabulary": settings.p, "frequencies": [1], "angles": ANGLES},
        optimiser=Optimiser(learning_rate=1.0).model_dump(),  # not used, and its settings do not change the id
        steps=0,
        measures=WITHOUT_TRAINING,
    )
