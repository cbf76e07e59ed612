"""`allmlp try FILE`: a sequence mixer of one's own on tasks of the crossover, beside the committed rows.

Sizes, budget in counted operations, optimiser, search of the learning rate and score are those of the crossover's
scale. Everything lies in own/try/, which git ignores: no registry, no lock file, no measurement of the project.

    loading    the class in the file, its shapes and numbers
    causal     does it read the future?
    tried      the class between the parts of the common backbone
    table      the skills beside the committed ones
"""

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.common.paths import SELECTED
from allmlp.judging import evidence
from allmlp.models import flops
from allmlp.pipeline.tokenize import tokenize_corpus
from allmlp.pipeline.try_mixer import causal, loading, table
from allmlp.pipeline.try_mixer.table import TaskTrial
from allmlp.plan.context import Context
from allmlp.plan.plan import Plan
from allmlp.spec.run import Run, link_runs
from allmlp.studies.crossover.fits import READS, TASKS
from allmlp.studies.crossover.measures.score import score
from allmlp.studies.crossover.runs import Cell, Settings, cell_runs
from allmlp.training import checkpoint
from allmlp.training.loop import Training
from allmlp.training.published import TrainedRun
from allmlp.training.subnormals import flush_to_zero

STUDY, PLACE = "crossover", "own/try"
TIMED = 5  # steps, for a median


class Request(NamedTuple):
    """What is asked for: all tasks that a mixer can do unless some are named; `minutes` for all trainings."""

    file: Path
    minutes: float
    tasks: Sequence[str] = ()
    seeds: int | None = None


def attempt(plan: Plan, asked: Request) -> Path:
    """Train, print the table, draw the matrix. Returns its file. UserError for a file that is no causal mixer."""
    settings = _settings(plan, asked.seeds)
    tasks = _tasks(plan.scale, settings, asked.tasks)
    print(f"{asked.file}: is run here, as your own code and with your rights", flush=True)
    context = Context(plan.parameters, plan.root, "cpu")
    name = _register(asked.file)
    cells = [_cell(settings, context, asked.file, name, task) for task in tasks]
    for cell in cells:
        causal.check(asked.file, cell.hyperparameters)
        if cell.row.corpus and not (Path("results/tokens") / context.tokens(cell.row.corpus)).is_dir():
            tokenize_corpus(plan, cell.row.corpus)
    committed = _committed_tables(plan.scale)
    os.chdir(_folder(plan.root, name))
    seconds = asked.minutes * 60 / len(cells)
    tried = [_train_task(settings, context, cell, seconds) for cell in cells]
    print("\n".join(table.lines(committed, tried, name, plan.scale)))
    file = Path.cwd() / "matrix.svg"
    table.draw(committed, tried, _abilities(committed, name), file)
    return file


def _settings(plan: Plan, seeds: int | None) -> Settings:
    """The crossover's at the plan's scale, with the first `seeds` seeds where that is given."""
    found = plan.parameters.settings.get((STUDY, plan.scale))
    if found is None:
        known = [scale for study, scale in plan.parameters.settings if study == STUDY]
        raise UserError(f"the crossover has no scale {plan.scale!r}. It has: {', '.join(known)}.")
    wanted = found.seeds if seeds is None else list(range(seeds))
    if found.search.seed in wanted:
        raise UserError(f"--seeds {seeds}: seed {found.search.seed} is that of the search. Take fewer.")
    return found.model_copy(update={"seeds": wanted})


def _tasks(scale: str, settings: Settings, asked: Sequence[str]) -> list[str]:
    can = [task for task in settings.budgets if TASKS[task].reads == "tokens" and "all" in TASKS[task].predicts]
    if wrong := [task for task in asked if task not in can]:
        raise UserError(f"--task {wrong[0]}: at scale {scale} a mixer of tokens can be tried on {', '.join(can)}.")
    return list(dict.fromkeys(asked)) or can


def _register(file: Path) -> str:
    """The architecture's name, for this process alone. UserError for the name of another one."""
    name = file.stem.replace("_", "-")
    if name in models.REGISTRY:
        raise UserError(f"{file}: {name!r} is the name of an architecture of the registry. Rename the file.")
    loading.load(file)  # before anything else is looked at
    models.REGISTRY[name] = "allmlp.pipeline.try_mixer.architecture:FileMixer"
    return name


def _cell(settings: Settings, context: Context, file: Path, name: str, task: str) -> Cell:
    row = getattr(settings.tasks, task.replace("-", "_")).row(task, context)
    sizes = {**row.sizes, "d_model": settings.d_model, "n_blocks": settings.n_blocks}
    given = {**sizes, "file": str(file), "digest": paths.file_sha256(file)}
    loading.check(file, given)
    with torch.device("meta"):
        model = models.build(name, **given)
    of_step = flops.counted_flops(model, row.batch_size)
    return Cell(name, name, row, given, settings.budgets[task], of_step, family=name, predicts="all")


def _folder(root: Path, name: str) -> Path:
    """The folder of everything that is made: with the project's tokens, and no other link to it."""
    folder = root / PLACE / name
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (root / "results/tokens").mkdir(parents=True, exist_ok=True)
    link = folder / "results/tokens"
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(root / "results/tokens", link.parent))
    return folder


def _train_task(settings: Settings, context: Context, cell: Cell, seconds: float) -> TaskTrial:
    """Search and seeds of one task, with fewer steps where `seconds` do not pay for all."""
    steps = min(cell.steps, settings.steps)
    share = len(settings.seeds) + len(settings.search.learning_rates) * settings.search.share
    with Path("log.txt").open("w", encoding="utf-8") as log, redirect_stdout(log):
        of_step = _seconds_of_step(cell_runs(settings, context, cell)[0])
        paid = max(1, int(seconds / share / of_step))
        kept = settings.model_copy(update={"steps": min(paid, steps)})
        runs = link_runs({run.id: run for run in cell_runs(kept, context, cell)}, cell.column)
    trainings = len(settings.seeds) + len(settings.search.learning_rates)
    about = min(paid, steps) * share * of_step
    print(f"{cell.row.name}: {trainings} trainings, about {about:.0f} s", flush=True)
    with Path("log.txt").open("a", encoding="utf-8") as log, redirect_stdout(log), flush_to_zero():
        for run in runs:
            checkpoint.produce(run)
            checkpoint.forget(run)
    rows = [_score_run(run) for run in runs if run.labels["part"] == "trained"]
    scores, needs = pd.concat(rows, ignore_index=True), steps * share * of_step
    return TaskTrial(cell.row.name, scores, min(paid, steps), steps, cell.flops, needs)


def _seconds_of_step(run: Run) -> float:
    with tempfile.TemporaryDirectory() as folder:
        training = Training(run, Path(folder))
        return statistics.median(_time_update(training) for _ in range(TIMED))


def _time_update(training: Training) -> float:
    before = time.perf_counter()
    training.update()
    return time.perf_counter() - before


def _score_run(run: Run) -> pd.DataFrame:
    """The rows of the crossover's score, with the labels of the run."""
    trained = TrainedRun(run)
    rows = score(trained).assign(run=run.id, seed=run.seed, diverged=trained.diverged)
    return rows.assign(**{name: value for name, value in run.labels.items() if name not in rows})


def _committed_tables(scale: str) -> dict[str, pd.DataFrame]:
    """The committed tables of the scale, by measure; empty where nothing of it is measured."""
    found = evidence.evidence_by_scale(STUDY).get(scale) if SELECTED.is_file() else None
    names = ("score", "abilities")
    return {name: found.table(name) if found else pd.DataFrame() for name in names}


def _abilities(committed: dict[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """Which architecture can do which task, the tried one among them."""
    rows: list[dict[str, Any]] = [
        {"architecture": name, "task": task, "reason": "" if asks.reads == "tokens" else READS["tokens"]}
        for task, asks in TASKS.items()
    ]
    return pd.concat([committed["abilities"], pd.DataFrame(rows)], ignore_index=True)
