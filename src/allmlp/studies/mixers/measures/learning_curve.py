"""Training and held-out loss of a run against steps, seconds and counted FLOPs (001-3 to 001-20).

Seconds and FLOPs are those of the shared measure `cost`, spread evenly over the steps. Runs share machines, so
comparisons take the median over seeds of a model's seconds per step (`allmlp.studies.mixers.budgets`).
"""

import pandas as pd

from allmlp import models, tasks
from allmlp.columns import exact, numeric, timing
from allmlp.protocols import Trained
from allmlp.training import flops

RECIPE = 1
WINDOW = 25  # steps whose batches' losses are averaged into a training loss

COLUMNS = {
    "step": exact("training steps done"),
    "flops": exact("forward and backward FLOPs up to then, counted"),
    "seconds": timing("training time up to then on the machine that did it; NaN where unknown"),
    "seconds_per_step": timing("of the whole run"),
    "train_nats": numeric(
        f"training loss per token: mean of the last {WINDOW} batches, each before its update; NaN at step 0",
        rtol=1e-2,
        atol=1e-3,
    ),
    "validation_nats": numeric("loss per token on held-out documents", rtol=5e-3, atol=1e-3),
    "learning_rate": exact("the rate after warm-up: the run's own, or the one that its search chose"),
    "diverged": exact("did the training stop at a loss that was not finite?"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per step with a held-out loss, including the end."""
    run, done = trained.run, trained.ending["steps_done"]
    model = models.build(run.architecture, **run.hyperparameters)
    per_step = flops.counted_flops(model, tasks.size(run.task, run.task_parameters)[0])
    seconds = trained.timing().get("seconds", float("nan")) / max(1, done)
    rows = held_out(trained.log, done, trained.ending["validation_loss"])
    return rows.assign(
        flops=rows["step"] * per_step,
        seconds=rows["step"] * seconds,
        seconds_per_step=seconds,
        learning_rate=trained.learning_rate,
        diverged=trained.diverged,
    )[list(COLUMNS)]


def held_out(log: pd.DataFrame, done: int, at_end: float | None) -> pd.DataFrame:
    """Columns step, train_nats, validation_nats: where the log has a held-out loss, and after the last step."""
    taken = log["validation_loss"] if "validation_loss" in log else pd.Series(float("nan"), index=log.index)
    found = dict(zip(log["step"][taken.notna()], taken.dropna(), strict=True))
    found[done] = float("nan") if at_end is None else at_end
    means = log["loss"].rolling(WINDOW, min_periods=1).mean()
    before = dict(zip(log["step"] + 1, means, strict=True))  # a row of step s is written before update s
    rows = [(step, before.get(step, float("nan")), loss) for step, loss in sorted(found.items())]
    return pd.DataFrame(rows, columns=["step", "train_nats", "validation_nats"])
