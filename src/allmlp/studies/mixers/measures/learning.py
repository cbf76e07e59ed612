"""Losses of a run against steps and FLOPs, and the part that dropout adds."""

import pandas as pd
import torch

from allmlp import models
from allmlp.data import tasks
from allmlp.models import flops
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.training.loss import cross_entropy

WINDOW = 25  # steps whose batches' losses are averaged into a training loss


@measure(
    recipe=1,
    step=exact("training steps done"),
    flops=exact("forward and backward FLOPs up to then, counted"),
    seconds=timing("training time up to then on the machine that did it; NaN where unknown"),
    seconds_per_step=timing("of the whole run"),
    train_nats=numeric(
        f"training loss per token: mean of the last {WINDOW} batches, each before its update; NaN at step 0",
        rtol=1e-2,
        atol=1e-3,
    ),
    validation_nats=numeric("loss per token on held-out documents", rtol=5e-3, atol=1e-3),
    learning_rate=exact("the rate after warm-up: the run's own, or the one that its search chose"),
    diverged=exact("did the training stop at a loss that was not finite?"),
)
def learning_curve(trained: TrainedRun) -> Rows:
    """Training and held-out loss of a run against steps, seconds and counted FLOPs (001-3 to 001-20).

    Seconds and FLOPs are those of the shared measure `cost`, spread evenly over the steps. Runs share machines, so
    comparisons take the median over seeds of a model's seconds per step (`allmlp.studies.mixers.budgets`).

    One row per step with a held-out loss, including the end.
    """
    run, done = trained.run, trained.ending["steps_done"]
    model = models.build(run.architecture, **run.hyperparameters)
    per_step = flops.counted_flops(model, tasks.size(run.task, run.task_parameters)[0])
    seconds = trained.timing().get("seconds", float("nan")) / max(1, done)
    rows = held_out_losses(trained.log, done, trained.ending["validation_loss"])
    return rows.assign(
        flops=rows["step"] * per_step,
        seconds=rows["step"] * seconds,
        seconds_per_step=seconds,
        learning_rate=trained.learning_rate,
        diverged=trained.diverged,
    )


def held_out_losses(log: pd.DataFrame, done: int, at_end: float | None) -> pd.DataFrame:
    """Columns step, train_nats, validation_nats: where the log has a held-out loss, and after the last step."""
    taken = log["validation_loss"] if "validation_loss" in log else pd.Series(float("nan"), index=log.index)
    found = dict(zip(log["step"][taken.notna()], taken.dropna(), strict=True))
    found[done] = float("nan") if at_end is None else at_end
    means = log["loss"].rolling(WINDOW, min_periods=1).mean()
    before = dict(zip(log["step"] + 1, means, strict=True))  # a row of step s is written before update s
    rows = [(step, before.get(step, float("nan")), loss) for step, loss in sorted(found.items())]
    return pd.DataFrame(rows, columns=["step", "train_nats", "validation_nats"])


BATCHES = 8  # the last that it was trained on
SEED = 1


@measure(
    recipe=1,
    batches=exact("training batches, the last of the run"),
    with_dropout_nats=numeric("their mean loss per token with dropout", rtol=1e-2, atol=1e-3),
    without_dropout_nats=numeric("the same without", rtol=1e-2, atol=1e-3),
    validation_nats=numeric("loss per token on held-out documents at the end", rtol=5e-3, atol=1e-3),
)
@torch.no_grad()
def dropout(trained: TrainedRun) -> Rows:
    """Training loss with and without dropout of a trained model: why the early GPT's 2.04 is above 1.96 (E001-8).

    One row, from the last weights.
    """
    run, model, task, done = trained.run, trained.model(), trained.task(), trained.ending["steps_done"]
    steps = range(max(0, done - BATCHES), done)
    means = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        for training in (True, False):
            model.train(training)
            losses = [
                cross_entropy(model(tokens), targets, torch.float32).item()
                for tokens, targets in (task.batch(run.seed, step) for step in steps)
            ]
            means.append(sum(losses) / len(losses) if losses else float("nan"))
    yield (len(steps), *means, trained.ending["validation_loss"])
