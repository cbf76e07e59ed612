"""Runs at fixed budgets of compute: sizes x budgets x seeds of MLP and GPT, and depth against width (000-1 to -4).

Numbers of weights are known by formula, so that a plan turns a budget C = 6 N D into steps without building a model:

    MLP   2 V d + T d^2 + d + 2 d + blocks (2 d w + (w + d) + 2 (w + d))
    GPT   2 V d + T d + blocks (4 d^2 + 4 d + 2 d w + (w + d) + 4 d) + 2 d

V vocabulary, T context, d width, w hidden width; the terms beside the matrices are biases and norms. N counts all of
them, embeddings among them (000-1, E000-8).
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from allmlp.common.errors import UserError
from allmlp.common.schema import StrictModel
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import Count, Rate, RelativeOptimiser, Seeds
from allmlp.studies.language.runs.neurons import NeuronSettings, last_token_run


def mlp(vocabulary: int, context: int, d_model: int, d_mlp: int, n_blocks: int) -> int:
    """All weights of a `LastTokenMLP` with biases and norms."""
    d, w = d_model, d_mlp
    first = context * d * d + 3 * d
    return 2 * vocabulary * d + first + n_blocks * (2 * d * w + 3 * (w + d))


def gpt2_last(vocabulary: int, context: int, d_model: int, d_mlp: int, n_blocks: int) -> int:
    """All weights of a `LastTokenGPT2` with biases; independent of the number of heads."""
    d, w = d_model, d_mlp
    block = 4 * d * d + 4 * d + 2 * d * w + w + d + 4 * d
    return (2 * vocabulary + context) * d + n_blocks * block + 2 * d


PARAMETERS: dict[str, Callable[[int, int, int, int, int], int]] = {"mlp": mlp, "gpt2-last": gpt2_last}


def budget_steps(budget_flops: float, parameters: int, batch_size: int) -> int:
    """Updates of `batch_size` targets that spend the budget C = 6 N D. UserError if it is less than one update."""
    steps = round(budget_flops / (6 * parameters * batch_size))
    if steps < 1:
        raise UserError(
            f"budget_flops={budget_flops:g}: less than one update of {parameters:,} weights on {batch_size} targets. "
            "Take a larger budget, a smaller d_model or a smaller batch_size."
        )
    return steps


def equal_size_width(d_mlp: int, n_blocks: int, deeper: int) -> int:
    """The hidden width at which `deeper` blocks have about as many weights as `n_blocks` of width `d_mlp`, at equal
    d."""
    return max(1, round(d_mlp * n_blocks / deeper))


OF_EVERY_SCALING_RUN = ("scaling", *SHARED)
OF_SAMPLED = ("samples", *OF_EVERY_SCALING_RUN)
MLP, GPT = "mlp", "gpt2-last"


class Budget(StrictModel):
    """Three sizes or more, each given `flops` = 6 N D. `d_mlp`: one for each of `d_model`; null: 4 x d_model."""

    flops: Rate
    d_model: list[Count] = Field(min_length=3)
    d_mlp: list[Count] | None = None

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        if self.d_mlp is not None and len(self.d_mlp) != len(self.d_model):
            raise ValueError(f"{len(self.d_mlp)} values of d_mlp for {len(self.d_model)} of d_model: give one for each")
        if len(set(self.sizes)) < len(self.sizes):
            raise ValueError("a size stands twice: give different ones")
        return self

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(d_model, d_mlp) of every model."""
        return list(zip(self.d_model, self.d_mlp or [4 * d for d in self.d_model], strict=True))


class Depth(StrictModel):
    """An MLP of `n_blocks`, one of `deeper` blocks with as many weights, and one of twice the hidden width."""

    flops: Rate
    d_model: Count
    d_mlp: Count
    deeper: Count


class Settings(StrictModel):
    """Settings shared by all runs."""

    seeds: Seeds
    gpt_seeds: list[Annotated[int, Field(ge=0)]] | None = Field(default=None, description="null: as `seeds`")
    context: Count
    n_blocks: Count
    n_heads: Count
    embedding_std: float | None = Field(default=None, gt=0, description="of both models; null: each one's own")
    batch_size: Count
    optimiser: RelativeOptimiser
    mlp: list[Budget] = Field(min_length=1)
    gpt: list[Budget] = Field(default=[])
    depth: Depth | None = None

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        wrong = {d for budget in self.gpt for d in budget.d_model if d % self.n_heads}
        if wrong:
            raise ValueError(f"gpt: d_model {sorted(wrong)} does not divide among n_heads={self.n_heads}")
        return self


class Cell(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    part: str
    shape: str
    architecture: str
    flops: float
    d_model: int
    d_mlp: int
    n_blocks: int


def runs(settings: Settings, study: NeuronSettings, context: Context) -> list[Run]:
    """Every run, cheap budgets first; `study`: the settings of the machine and the corpus."""
    cells = sorted(
        [*_isoflop(settings), *_depth(settings)],
        key=lambda cell: cell.flops * (settings.context if cell.architecture == GPT else 1),
    )  # a GPT computes all positions for one target
    mine = {MLP: settings.seeds, GPT: settings.gpt_seeds or settings.seeds}
    measures = dict.fromkeys(cells, OF_EVERY_SCALING_RUN) | dict.fromkeys(_sampled_cells(settings), OF_SAMPLED)
    return [
        _run(settings, study, context, cell, seed, measures[cell]) for cell in cells for seed in mine[cell.architecture]
    ]


def _sampled_cells(settings: Settings) -> list[Cell]:
    """The models that are sampled: the two largest MLPs and the largest GPT at its largest budget, as in Appendix A."""
    cells = sorted(_isoflop(settings), key=lambda cell: (cell.flops, cell.d_model))
    return [cell for cell in cells if cell.architecture == MLP][-2:] + [c for c in cells if c.architecture == GPT][-1:]


def _isoflop(settings: Settings) -> Iterator[Cell]:
    for architecture, budgets in ((MLP, settings.mlp), (GPT, settings.gpt)):
        for budget in budgets:
            for d_model, d_mlp in budget.sizes:
                yield Cell("scaling", "base", architecture, budget.flops, d_model, d_mlp, settings.n_blocks)


def _depth(settings: Settings) -> Iterator[Cell]:
    if not (depth := settings.depth):
        return
    base = Cell("depth", "base", MLP, depth.flops, depth.d_model, depth.d_mlp, settings.n_blocks)
    yield base
    narrow = equal_size_width(depth.d_mlp, settings.n_blocks, depth.deeper)
    yield base._replace(shape="deep", d_mlp=narrow, n_blocks=depth.deeper)
    yield base._replace(shape="wide", d_mlp=2 * depth.d_mlp)


def _run(
    settings: Settings, study: NeuronSettings, context: Context, cell: Cell, seed: int, measures: tuple[str, ...]
) -> Run:
    sizes = {  # in the order of PARAMETERS
        "context": settings.context,
        "d_model": cell.d_model,
        "d_mlp": cell.d_mlp,
        "n_blocks": cell.n_blocks,
    }
    weights = PARAMETERS[cell.architecture](context.vocabulary(study.corpus), *sizes.values())
    steps = budget_steps(cell.flops, weights, settings.batch_size)
    labels: dict[str, str | int | float] = {
        "part": cell.part,
        "shape": cell.shape,
        "budget_flops": cell.flops,
        "learning_rate": settings.optimiser.learning_rate,
        **sizes,
    }
    options: dict[str, Any] = {} if settings.embedding_std is None else {"embedding_std": settings.embedding_std}
    if cell.architecture == GPT:
        options["n_heads"] = settings.n_heads
    return last_token_run(
        study,
        context,
        name=f"{cell.architecture}-{_format_flops(cell.flops)}-d{cell.d_model}-w{cell.d_mlp}-b{cell.n_blocks}-{study.corpus}",
        labels=labels,
        architecture=cell.architecture,
        sizes={**sizes, **options},
        corpus=study.corpus,
        batch_size=settings.batch_size,
        optimiser=settings.optimiser.optimiser_for(steps),
        steps=steps,
        seed=seed,
        measures=measures,
    )


def _format_flops(flops: float) -> str:
    """'3e10': a budget for the name of a run."""
    return f"{flops:.1e}".replace("e+", "e").replace(".0e", "e")
