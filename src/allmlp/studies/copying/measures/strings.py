"""Measures of runs that copy strings: curves, steps to a level, decoding."""

import torch

from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.task import IGNORED
from allmlp.measurements.search_losses import ARRIVED, first_step_at_level
from allmlp.models.sampling import decode_greedily
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.copying.convergence import LEARNED_NATS, WITHIN, largest_fall, largest_rise, plateau
from allmlp.studies.shared.curve_statistics import first_step_below
from allmlp.studies.shared.curves import sample_log

MOST_ROWS = 2000


@measure(
    recipe=1,
    step=exact("training step, counted as in the log"),
    loss_nats=numeric("cross-entropy of the supervised tokens, before the step's update", rtol=1e-2, atol=1e-3),
    token_accuracy_1=numeric("share of supervised tokens predicted right", rtol=1e-2, atol=0.02),
    string_accuracy_1=numeric("share of strings with every token right, EOS included", rtol=1e-2, atol=0.05),
)
def learning_curve(trained: TrainedRun) -> Rows:
    """Loss and accuracy on each training batch before its update: every batch is fresh strings (002-4).

    One row per step of the log; of longer logs MOST_ROWS or fewer, always the same.
    """
    names = {"loss": "loss_nats", "token_accuracy": "token_accuracy_1", "string_accuracy": "string_accuracy_1"}
    return sample_log(trained.log, MOST_ROWS, names)


@measure(
    recipe=1,
    reached=exact(f"did a batch reach {ARRIVED:.0%} token accuracy within the budget"),
    iterations=numeric("first step that did; the budget where none did", rtol=0.1, atol=10),
    diverged=exact("did the training stop at a loss that was not finite?"),
    budget=exact("training steps of the run"),
    fall_nats=numeric(f"largest fall of the training loss within {WITHIN} iterations", rtol=0.1, atol=0.05),
    fall_step=numeric("step at which that fall begins", rtol=0.1, atol=WITHIN),
)
def iterations_to_99(trained: TrainedRun) -> Rows:
    """Iterations until 99 % accuracy, and the largest fall of the loss on the way (002-5, 002-2).

    The accuracy is that of the supervised tokens of the training batch before its update, the paper's "320 online
    samples". A run that never arrives is censored at its budget, not dropped.

    One row per run.
    """
    log, budget = trained.log, trained.run.steps
    arrived = first_step_at_level(log["step"].to_numpy(), log["token_accuracy"].to_numpy())
    fall = largest_fall(log["step"].to_numpy(), log["loss"].to_numpy())
    yield (arrived is not None, budget if arrived is None else arrived, trained.diverged, budget, *fall)


SHARES = {"to_90_steps": 0.9, "to_half_steps": 0.5, "to_10_steps": 0.1}


@measure(
    recipe=1,
    **{
        name: numeric(f"first step below {share:g} of the plateau; the budget where none is", rtol=0.1, atol=10)
        for name, share in SHARES.items()
    },
    fell_to_half=exact("did the loss fall to half the plateau within the budget"),
    fell=exact("did the loss fall to a tenth of the plateau within the budget"),
    reached=exact(f"did a batch reach {ARRIVED:.0%} token accuracy within the budget"),
    iterations=numeric("first step that did; the budget where none did", rtol=0.1, atol=10),
    perfect=exact("was every string of some batch right, each batch being strings never seen before"),
    diverged=exact("did the training stop at a loss that was not finite?"),
    budget=exact("training steps of the run"),
)
def falls(trained: TrainedRun) -> Rows:
    """When a loss leaves its plateau, falls to half and a tenth of it, and 99 % accuracy is reached (002-3, 002-10).

    One row per run. A diverged run has the steps that it did and the budget for the others.
    """
    log, budget = trained.log, trained.run.steps
    height = plateau(trained.run.task_parameters["string_length"])
    steps, loss = log["step"].to_numpy(), log["loss"].to_numpy()
    falls = {name: first_step_below(steps, loss, share * height) for name, share in SHARES.items()}
    arrived = first_step_at_level(steps, log["token_accuracy"].to_numpy())
    yield {
        **{name: budget if step is None else step for name, step in falls.items()},
        "fell_to_half": falls["to_half_steps"] is not None,
        "fell": falls["to_10_steps"] is not None,
        "reached": arrived is not None,
        "iterations": budget if arrived is None else arrived,
        "perfect": bool((log["string_accuracy"] == 1).any()),
        "diverged": trained.diverged,
        "budget": budget,
    }


@measure(
    recipe=1,
    learned=exact(f"was the loss of a batch at most {LEARNED_NATS:g} nats within the budget"),
    learned_steps=numeric("the first step with such a loss; the budget where none was", rtol=0.1, atol=10),
    rise_nats=numeric("the largest rise of the loss above its lowest so far, from that step on", rtol=0.5, atol=0.1),
    rise_step=numeric("the step with the peak of that rise", rtol=0.5, atol=100),
    diverged=exact("did the training stop at a loss that was not finite?"),
    budget=exact("training steps of the run"),
)
def rises(trained: TrainedRun) -> Rows:
    """How far the training loss rises again once the run has learned to copy (002-1).

    From the whole log: a learning curve keeps every fifth row of a log of 5,000, and a jump may last for fewer steps.

    One row per run. A run that has not learned has a rise of nan, at its budget.
    """
    budget = trained.run.steps
    rise = largest_rise(trained.log["step"].to_numpy(), trained.log["loss"].to_numpy())
    found = (False, budget, float("nan"), budget) if rise is None else (True, *rise)
    return [(*found, trained.diverged, budget)]


STRINGS = 256
SEED = 2**40  # no training has this seed, so its batches are new


@measure(
    recipe=1,
    strings=exact("strings asked for, none of a training batch's draws"),
    letters_1=numeric("share of letters and ends right, each written after the model's own", rtol=0.02, atol=0.02),
    strings_1=numeric("share of strings written right from beginning to end", rtol=0.02, atol=0.05),
    told_letters_1=numeric("share right where the true letters before are given", rtol=0.02, atol=0.02),
    told_strings_1=numeric("share of strings right where the true letters before are given", rtol=0.02, atol=0.05),
)
def greedy_decoding(trained: TrainedRun) -> Rows:
    """Copying by greedy decoding of strings that were never seen before (002-4).

    One row per run, of its last weights.
    """
    model = trained.model()
    task = Copying(trained.run.task_parameters["string_length"], STRINGS)
    batch = task.batch(SEED, 0)
    with torch.no_grad():
        given = task.scores(model(batch.tokens), batch)
    prompts, true = batch.tokens[:, : task.string_length + 2], batch.targets[batch.targets != IGNORED].view(STRINGS, -1)
    right = decode_greedily(model, prompts, task.string_length + 1) == true
    shares = (part.double().mean().item() for part in (right, right.all(1)))
    return [(STRINGS, *shares, given["token_accuracy"], given["string_accuracy"])]
