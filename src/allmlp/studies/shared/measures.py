"""Measures of every run: its cost, and whether it has levelled off."""

from allmlp import models
from allmlp.data import tasks
from allmlp.judging.levelling import LIMIT, NONE, curve_from_log, measure_level, slope_per_step
from allmlp.models import flops
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.texts import token_folder


@measure(
    recipe=1,
    parameters=exact("trained parameters"),
    non_embedding_parameters=exact("those outside token and position embeddings and the unembedding"),
    steps_done=exact("updates done"),
    diverged=exact("did the training stop at a loss that was not finite?"),
    supervised_tokens=exact("targets that took part in the loss, over the whole run"),
    six_nd_flops=exact("6 x parameters x supervised tokens"),
    counted_flops=exact("forward and backward FLOPs of the whole run, counted"),
    validation_nats=numeric(
        "cross-entropy on held-out documents at the end; NaN where every batch is fresh", rtol=5e-3
    ),
    seconds=timing("training time on the machine that did it; NaN where unknown"),
    hardware=timing("what it was trained on"),
    versions=timing(
        "of Python, torch and NumPy; git's tree of src/ and the digests of recipes' sources, see `measurements.origins`"
    ),
)
def cost(trained: TrainedRun) -> Rows:
    """What a run cost and how it ended: parameters, tokens, FLOPs, held-out loss, seconds. Measured for every run.

    One row.
    """
    run, done, loss = trained.run, trained.ending["steps_done"], trained.ending["validation_loss"]
    sequences, supervised_per_step = tasks.size(run.task, run.task_parameters)
    supervised = supervised_per_step * done
    model = models.build(run.architecture, **run.hyperparameters)
    counts, spent = flops.parameters(model), trained.timing()
    yield {
        "parameters": counts["total"],
        "non_embedding_parameters": counts["non_embedding"],
        "steps_done": done,
        "diverged": trained.diverged,
        "supervised_tokens": supervised,
        "six_nd_flops": flops.six_nd(counts["total"], supervised),
        "counted_flops": flops.counted_flops(model, sequences) * done,
        "validation_nats": float("nan") if loss is None else loss,
        "seconds": spent.get("seconds", float("nan")),
        "hardware": spent.get("hardware", ""),
        "versions": spent.get("versions", ""),
    }


@measure(
    recipe=1,
    steps=exact("updates done"),
    readings_1=exact("how often the training examples were read; nan where each batch is drawn anew"),
    source=exact("which loss: held-out where the last quarter of the budget has enough of it, else training"),
    values=exact("losses in that quarter"),
    loss_nats=numeric("their mean", rtol=1e-2, atol=1e-3),
    slope_nats_per_doubling=numeric("slope over that quarter, per doubling of the steps", rtol=0.5, atol=0.05),
    slope_error_nats=numeric("its standard error, from the noise of the batches", rtol=1.0, atol=0.05),
    slope_nats_per_reading=numeric("the slope per reading of the training examples", rtol=0.5, atol=0.05),
    level_1=numeric(
        f"1: the 95 % interval of the slope per doubling lies within {LIMIT} of 0; 0: outside; nan: neither", atol=1.0
    ),
)
def levelled(trained: TrainedRun) -> Rows:
    """Has a training levelled off? The loss's slope over the last quarter of its budget, and the number of epochs.

    Measured for every training at the scale `long` and above. Trainings of smaller scales with a measured curve are
    judged by that curve, with the same function.

    One row.
    """
    done, ending = trained.ending["steps_done"], trained.ending["validation_loss"]
    curve, budget, readings = curve_from_log(trained.log, done, ending), trained.run.steps, _readings(trained, done)
    found = measure_level(curve, budget)
    per_reading = slope_per_step(curve, budget) * done / readings if readings else NONE
    losses = (found.loss, found.per_doubling, found.error, per_reading)
    yield (done, readings, found.source, found.values, *losses, NONE if found.level is None else float(found.level))


def _readings(trained: TrainedRun, done: int) -> float:
    """Batches done over the batches of one epoch; NaN for a task with unlimited data."""
    run = trained.run
    rows = tasks.size(run.task, run.task_parameters)[0]
    if tasks.load(run.task).reads_parent:  # it draws from pairs; building it would embed them all
        return done * rows / _pairs(trained)
    if run.corpus is None:
        return float(done) if run.task.startswith("modular-addition") else NONE  # every pair in every batch
    return done / trained.task().batches_per_epoch  # type: ignore[attr-defined]


def _pairs(trained: TrainedRun) -> int:
    from allmlp.data.tokens.pairs import PairFile

    most = trained.run.task_parameters.get("training_pairs")
    there = len(PairFile(token_folder(trained)).queries("train"))
    return there if most is None else min(most, there)
