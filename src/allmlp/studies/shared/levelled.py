"""Has a training levelled off? The loss's slope over the last quarter of its budget, and the number of epochs.

Measured for every training at the scale `long` and above. Trainings of smaller scales with a measured curve are judged
by that curve, with the same function.
"""

import pandas as pd

from allmlp import tasks
from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.levelling import LIMIT, NONE, levelled, of_log, per_step
from allmlp.studies.texts import tokens_of

RECIPE = 1
COLUMNS = {
    "steps": exact("updates done"),
    "readings_1": exact("how often the training examples were read; nan where each batch is drawn anew"),
    "source": exact("which loss: held-out where the last quarter of the budget has enough of it, else training"),
    "values": exact("losses in that quarter"),
    "loss_nats": numeric("their mean", rtol=1e-2, atol=1e-3),
    "slope_nats_per_doubling": numeric("slope over that quarter, per doubling of the steps", rtol=0.5, atol=0.05),
    "slope_error_nats": numeric("its standard error, from the noise of the batches", rtol=1.0, atol=0.05),
    "slope_nats_per_reading": numeric("the slope per reading of the training examples", rtol=0.5, atol=0.05),
    "level_1": numeric(
        f"1: the 95 % interval of the slope per doubling lies within {LIMIT} of 0; 0: outside; nan: neither", atol=1.0
    ),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row."""
    done, ending = trained.ending["steps_done"], trained.ending["validation_loss"]
    curve, budget, readings = of_log(trained.log, done, ending), trained.run.steps, _readings(trained, done)
    found = levelled(curve, budget)
    per_reading = per_step(curve, budget) * done / readings if readings else NONE
    losses = (found.loss, found.per_doubling, found.error, per_reading)
    row = (done, readings, found.source, found.values, *losses, NONE if found.level is None else float(found.level))
    return pd.DataFrame([row], columns=list(COLUMNS))


def _readings(trained: Trained, done: int) -> float:
    """Batches done over the batches of one epoch; NaN for a task with unlimited data."""
    run = trained.run
    rows = tasks.size(run.task, run.task_parameters)[0]
    if tasks.load(run.task).reads_parent:  # it draws from pairs; building it would embed them all
        return done * rows / _pairs(trained)
    if run.corpus is None:
        return float(done) if run.task.startswith("modular-addition") else NONE  # every pair in every batch
    return done / trained.task().batches_per_epoch  # type: ignore[attr-defined]


def _pairs(trained: Trained) -> int:
    from allmlp.tokens.pairs import PairFile

    most = trained.run.task_parameters.get("training_pairs")
    there = len(PairFile(tokens_of(trained)).queries("train"))
    return there if most is None else min(most, there)
