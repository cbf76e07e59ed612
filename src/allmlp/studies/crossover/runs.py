"""Runs of the crossover: every architecture on every task that it can do, at equal counted operations.

A column of the matrix is a family, represented by its first architecture that can do the task, or with `every` an
architecture. A registered architecture that is in no family of the settings gets its own column at every scale, in the
family that its class names: a line in `models.REGISTRY` is enough.

    steps = budget of the task / (counted operations of a step on one sequence x sequences of a batch)

For every architecture, learning rates are searched on a separate seed, with the same share of a run's steps.

A ladder trains some architectures at several budgets and widths, with a search for each: the matrix is one slice of it.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.models import REGISTRY
from allmlp.plan import model_facts
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.studies.crossover.fits import list_misfits, misfit_reason
from allmlp.studies.crossover.settings import Ladder, LadderSearch, Row, Search, Settings

__all__ = ["Cell", "Settings", "cell_runs", "cells", "columns", "ladder_cells", "runs"]


class Cell(NamedTuple):
    """One architecture on one task."""

    column: str
    architecture: str
    row: Row
    hyperparameters: dict[str, Any]
    budget: float
    flops: int  # counted operations of a step
    family: str
    predicts: str  # which of the row's forms: "all" or "last"
    width: int | None = None  # of a ladder's step

    @property
    def steps(self) -> int:
        """The number of steps that the budget allows."""
        return int(self.budget // self.flops)

    @property
    def name(self) -> str:
        """The name of its runs."""
        place = f"-d{self.width}-{self.budget / 1e9:g}e9" if self.width else ""
        return f"{self.architecture}-{self.row.name}{place}"


def runs(settings: Settings, context: Context) -> list[Run]:
    """The run of the abilities, and for each cell the search of its learning rate and a run per seed; those of the
    ladders."""
    found = [_abilities(settings)] if settings.budgets else []
    for cell in cells(settings, context):
        found += cell_runs(settings, context, cell)
    for name, ladder in settings.ladders.items():
        for cell in ladder_cells(settings, context, ladder):
            found += cell_runs(settings, context, cell, name, ladder.search)
    return found


def cell_runs(
    settings: Settings, context: Context, cell: Cell, part: str = "trained", search: Search | LadderSearch | None = None
) -> list[Run]:
    """The runs of one architecture on one task: the search of its learning rate, and a run per seed."""
    search = search or settings.search
    tried = [_search_run(settings, context, cell, search.share, seed, rate) for seed, rate in search.settings()]
    chosen = {"search": tuple(run.id for run in tried), "criterion": search.criterion}
    return [*tried, *(_seed_run(settings, context, cell, part, seed, chosen) for seed in settings.seeds)]


def columns(settings: Settings) -> dict[str, list[str]]:
    """column -> the architectures that may represent it, in order of preference."""
    if settings.every:
        return {name: [name] for name in REGISTRY}
    listed = {name for names in settings.families.values() for name in names}
    return {**settings.families, **{name: [name] for name in REGISTRY if name not in listed}}


def cells(settings: Settings, context: Context) -> Iterator[Cell]:
    """Every task with every column that can do it. UserError if a budget is less than one step."""
    for task, budget in settings.budgets.items():
        row = _row(settings, context, task)
        for column, names in columns(settings).items():
            if architecture := next((name for name in names if misfit_reason(name, task) is None), None):
                yield _cell(settings, row, column, architecture, budget, f"budgets.{task}")


def ladder_cells(settings: Settings, context: Context, ladder: Ladder) -> Iterator[Cell]:
    """The steps of a ladder: its architectures at its widths and budgets. UserError where one cannot do a task."""
    for (task, budgets), width, name in product(ladder.budgets.items(), ladder.widths, ladder.architectures):
        if reason := misfit_reason(name, task):
            raise UserError(f"studies.crossover.ladders: {name} cannot do {task}. {reason}")
        of_width, row = settings.model_copy(update={"d_model": width}), _row(settings, context, task)
        for budget in budgets:
            yield _cell(of_width, row, name, name, budget, f"ladders, {task}")._replace(width=width)


def _row(settings: Settings, context: Context, task: str) -> Row:
    row: Row = getattr(settings.tasks, task.replace("-", "_")).row(task, context)
    return row


def _cell(settings: Settings, row: Row, column: str, architecture: str, budget: float, where: str) -> Cell:
    sizes = _sizes(settings, row, architecture)
    of_step = model_facts.counts(architecture, sizes, row.batch_size).flops
    family, predicts = settings.family(architecture), model_facts.declarations(architecture).predicts
    cell = Cell(column, architecture, row, sizes, budget, of_step, family, predicts)
    if not cell.steps:
        raise UserError(
            f"studies.crossover.{where}: {budget:g} operations buy no step of {architecture}, "
            f"which takes {cell.flops:.2g}. Raise the budget, or use a smaller batch."
        )
    return cell


def _sizes(settings: Settings, row: Row, architecture: str) -> dict[str, Any]:
    """The common sizes that an architecture takes, then its own, then its own for this task."""
    about = model_facts.declarations(architecture)
    common = {**row.sizes, "d_model": settings.d_model, "n_blocks": settings.n_blocks, "n_heads": settings.n_heads}
    if "d_mlp" in about.needs:
        common["d_mlp"] = 4 * settings.d_model
    taken = {name: value for name, value in common.items() if name in about.takes}
    own = settings.hyperparameters.get(architecture, {})
    return {**taken, **own, **row.settings.hyperparameters.get(architecture, {})}


def _search_run(settings: Settings, context: Context, cell: Cell, share: float, seed: int, rate: float) -> Run:
    steps, name = max(1, round(share * min(cell.steps, settings.steps))), f"{cell.name}-rate{rate:g}"
    return _run(settings, context, cell, name, "search", seed, steps, rate, measures=SHARED)


def _seed_run(settings: Settings, context: Context, cell: Cell, part: str, seed: int, chosen: Mapping[str, Any]) -> Run:
    steps = min(cell.steps, settings.steps)
    timed = seed == settings.seeds[0] and cell.width is None
    measures = ("score", *SHARED, *(("resources",) if timed else ()))
    rate = settings.optimiser.learning_rate  # the search replaces it
    return _run(settings, context, cell, cell.name, part, seed, steps, rate, measures=measures, **chosen)


def _run(
    settings: Settings,
    context: Context,
    cell: Cell,
    name: str,
    part: str,
    seed: int,
    steps: int,
    rate: float,
    **more: Any,
) -> Run:
    row = cell.row
    task, parameters = row.forms[cell.predicts]
    optimiser = settings.optimiser.optimiser_for(steps, rate).model_dump()
    if row.settings.weight_decay is not None:
        optimiser["weight_decay"] = row.settings.weight_decay
    of_corpus: dict[str, Any] = (
        {"tokens": context.tokens(row.corpus), "corpus_settings": context.corpus_settings(row.corpus)}
        if row.corpus
        else {}
    )
    labels: dict[str, str | int | float] = {
        "part": part,
        "column": cell.column,
        "family": cell.family,
        "model": cell.architecture,
    }
    if part == "search":
        labels["learning_rate"] = rate
    if cell.width is not None:
        labels |= {"d_model": cell.width, "budget": cell.budget}
    return Run(
        study="crossover",
        name=name,
        labels={**labels, "task": row.name, "context": row.context, "sequences": row.batch_size},
        architecture=cell.architecture,
        hyperparameters=cell.hyperparameters,
        task=task,
        task_parameters=parameters,
        optimiser=optimiser,
        steps=steps,
        seed=seed,
        corpus=row.corpus,
        loss_dtype=row.loss_dtype,
        **of_corpus,
        **more,
        **settings.machine(context.device),
    )


def _abilities(settings: Settings) -> Run:
    """The run of the measure `abilities`, without training. The measure reads neither weights nor settings but what
    classes declare (`fits.misfit_reason`), so the run's name holds a digest of its result."""
    return Run(
        study="crossover",
        name=f"abilities-{paths.digest(list_misfits())}",
        labels={"part": "abilities"},
        architecture="transformer",
        hyperparameters={"vocabulary": 2, "context": 2, "d_model": 1, "n_blocks": 1},
        task="copying",
        task_parameters={"string_length": 1, "batch_size": 1},
        measures=("abilities",),
        **settings.untrained_settings(),
    )
