"""`allmlp try FILE`: a sequence mixer of one's own on tasks of the crossover, beside the committed rows.

Sizes, budget in counted operations, optimiser, search of the learning rate and score are those of the crossover's
scale: of `workstation` where its trainings fit, because `laptop` has few seeds. Everything lies in own/try/, which git
ignores: no registry, no lock file, no measurement of the project.

    loading    the class in the file, its shapes and numbers
    causal     does it read the future?
    tried      the class between the parts of the common backbone
    table      the skills beside the committed ones
"""

import math
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
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
from allmlp.models.base import SequenceModel
from allmlp.pipeline.tokenize import tokenize_corpus
from allmlp.pipeline.try_mixer import causal, loading, table
from allmlp.pipeline.try_mixer.table import TaskTrial
from allmlp.plan.context import Context
from allmlp.plan.own_runs import OWN, TRIED
from allmlp.plan.plan import Plan
from allmlp.spec.run import Run, link_runs
from allmlp.studies.crossover.fits import READS, TASKS
from allmlp.studies.crossover.measures.score import score
from allmlp.studies.crossover.runs import Cell, Settings, cell_runs
from allmlp.training import checkpoint
from allmlp.training.loop import Training
from allmlp.training.published import TrainedRun
from allmlp.training.subnormals import flush_to_zero

STUDY, PLACE = "crossover", str(OWN / TRIED)
LARGER, SHORT = "workstation", 180  # a scale that is taken for a task if all its trainings take so many seconds at most
TIMED, ENOUGH = 5, 2.0  # steps, for a median; seconds after which fewer will do


class Request(NamedTuple):
    """What is asked for: all tasks that a mixer can do unless some are named; `minutes` for all trainings; `larger`:
    may a larger scale than the plan's be taken where it fits?"""

    file: Path
    minutes: float
    tasks: Sequence[str] = ()
    seeds: int | None = None
    larger: bool = False


class Trial(NamedTuple):
    """A task at a scale, before anything is trained."""

    scale: str
    settings: Settings
    cell: Cell

    @property
    def steps(self) -> int:
        """Of a training that gets the whole budget."""
        return min(self.cell.steps, self.settings.steps)

    @property
    def trainings(self) -> int:
        """Of the search and of the seeds."""
        return len(self.settings.seeds) + len(self.settings.search.learning_rates)

    def seconds(self, cost: "Cost", steps: int) -> float:
        """What all trainings take if those of the seeds have so many steps."""
        share = len(self.settings.seeds) + len(self.settings.search.learning_rates) * self.settings.search.share
        return self.trainings * cost.beside + share * steps * cost.step


class Cost(NamedTuple):
    """Seconds of a step, and of what a training takes beside its steps: building, held-out losses, its score."""

    step: float
    beside: float


def attempt(plan: Plan, asked: Request) -> Path:
    """Train, print the table, draw the matrix. Returns its file. UserError for a file that is no causal mixer."""
    tasks = _tasks(plan.scale, _settings(plan, plan.scale, asked.seeds), asked.tasks)
    print(f"{asked.file}: is run here, as your own code and with your rights", flush=True)
    context = Context(plan.parameters, plan.root, "cpu")
    name = _register(asked.file)
    scales = [*([LARGER] if asked.larger else []), plan.scale]
    trials = {task: list(_trials(plan, context, asked, name, task, scales)) for task in tasks}
    for trial in (trial for of_task in trials.values() for trial in of_task):
        causal.check(asked.file, trial.cell.hyperparameters)
        if (corpus := trial.cell.row.corpus) and not (Path("results/tokens") / context.tokens(corpus)).is_dir():
            tokenize_corpus(plan, corpus)
    committed = {scale: _committed_tables(scale) for scale in scales}
    os.chdir(_folder(plan.root, name))
    end, tried = time.monotonic() + asked.minutes * 60, []
    for number, of_task in enumerate(trials.values()):
        tried.append(_train_task(context, of_task, (end - time.monotonic()) / (len(trials) - number)))
    print("\n".join(table.lines(committed, tried, name)))
    file = Path.cwd() / "matrix.svg"
    table.draw(committed, tried, plan.scale, _abilities(committed[plan.scale], name), file)
    return file


def _trials(
    plan: Plan, context: Context, asked: Request, name: str, task: str, scales: Sequence[str]
) -> Iterator[Trial]:
    """The task at the scales that have it, the largest first."""
    for scale in scales:
        settings = _settings(plan, scale, asked.seeds)
        if task in settings.budgets:
            yield Trial(scale, settings, _cell(settings, context, asked.file, name, task))


def _settings(plan: Plan, scale: str, seeds: int | None) -> Settings:
    """The crossover's at a scale, with the first `seeds` seeds where that is given."""
    known: dict[str, Settings] = {at: of for (study, at), of in plan.parameters.settings.items() if study == STUDY}
    if scale not in known:
        raise UserError(f"the crossover has no scale {scale!r}. It has: {', '.join(known)}.")
    found = known[scale]
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
    found = Cell(name, name, row, given, settings.budgets[task], 0, family=name, predicts="all")
    return found._replace(flops=flops.counted_flops(_on_meta(found), row.batch_size))


def _on_meta(cell: Cell) -> SequenceModel:
    with torch.device("meta"):
        return models.build(cell.architecture, **cell.hyperparameters)


def _folder(root: Path, name: str) -> Path:
    """The folder of everything that is made: with the project's tokens, and no other link to it."""
    folder = root / PLACE / name
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (root / "results/tokens").mkdir(parents=True, exist_ok=True)
    link = folder / "results/tokens"
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(root / "results/tokens", link.parent))
    return folder


def _choose_scale(context: Context, trials: list[Trial], end: float) -> tuple[Trial, Cost, float]:
    """The first scale whose trainings take SHORT at most and `end` in time, or the last one; what it costs, and the
    seconds that are left."""
    for trial in trials:
        cost = _cost(context, trial)
        left = end - time.monotonic()
        if trial.seconds(cost, trial.steps) <= min(SHORT, left):
            break
    return trial, cost, left


def _train_task(context: Context, trials: list[Trial], seconds: float) -> TaskTrial:
    """Search and seeds of one task at the first scale that fits into `seconds`, or else at the last one with as many
    steps as they pay for. UserError if they pay for none."""
    trial, cost, left = _choose_scale(context, trials, time.monotonic() + seconds)
    if (least := trial.seconds(cost, 1)) > left:
        spent = seconds - left + least
        raise UserError(
            f"{trial.cell.row.name}: {trial.trainings} trainings of one step take {least:.0f} s, and {left:.0f} s are "
            f"left for them. Give --minutes {math.ceil(table.SPARE * spent / 60)} to one --task, or fewer --seeds."
        )
    steps = min(trial.steps, int((left - trial.trainings * cost.beside) / (least - trial.trainings * cost.beside)))
    runs = _runs(context, trial, steps)
    print(f"{trial.cell.row.name}: {trial.trainings} trainings, about {trial.seconds(cost, steps):.0f} s", flush=True)
    with Path("log.txt").open("a", encoding="utf-8") as log, redirect_stdout(log), flush_to_zero():
        for run in runs:
            checkpoint.produce(run)
            checkpoint.forget(run)
    rows = pd.concat([_score_run(run) for run in runs if run.labels["part"] == "trained"], ignore_index=True)
    return TaskTrial(
        trial.cell.row.name,
        rows,
        steps,
        trial.steps,
        trial.cell.flops,
        trial.seconds(cost, trial.steps),
        scale=trial.scale,
        capped=trial.cell.steps > trial.settings.steps,
        seconds=cost.step,
        parameters=sum(weight.numel() for weight in _on_meta(trial.cell).parameters()),
        rates=tuple(trial.settings.search.learning_rates),
    )


def _runs(context: Context, trial: Trial, steps: int) -> list[Run]:
    kept = trial.settings.model_copy(update={"steps": steps})
    return link_runs({run.id: run for run in cell_runs(kept, context, trial.cell)}, trial.cell.column)


def _cost(context: Context, trial: Trial) -> Cost:
    """From some steps of a training, and from a whole one of a step."""
    with Path("log.txt").open("w", encoding="utf-8") as log, redirect_stdout(log), flush_to_zero():
        run = _runs(context, trial, 1)[0]
        with tempfile.TemporaryDirectory() as folder:
            training, timed = Training(run, Path(folder)), [0.0]
            while len(timed) <= TIMED and sum(timed) < ENOUGH:
                timed.append(_time_update(training))
        step, before = statistics.median(timed[1:]), time.perf_counter()
        checkpoint.produce(run)
        checkpoint.forget(run)
        _score_run(run)
        beside = time.perf_counter() - before - step
        shutil.rmtree(run.folder)
    return Cost(step, max(0.0, beside))


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
