"""Losses of a run, beside its size, data and compute."""

import math
from pathlib import Path
from typing import cast

from allmlp import models
from allmlp.data import tasks
from allmlp.data.corpora.stories.floor import entropy_per_token
from allmlp.data.tasks.last_token import LastToken
from allmlp.data.tokens import TokenFile
from allmlp.models import flops
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.curve_statistics import end_mean
from allmlp.studies.shared.curves import losses
from allmlp.studies.shared.measures import cost

MOST_ROWS = 600


@measure(
    recipe=1,
    step=exact("training steps done"),
    loss_nats=numeric("training loss of the step's batch, before its update", rtol=1e-2, atol=1e-3),
    validation_nats=numeric("loss on held-out documents; nan where it was not taken", rtol=1e-2, atol=1e-3),
    floor_nats=numeric("entropy of the corpus per token, which no model can pass; nan where unknown", rtol=1e-6),
)
def loss_curve(trained: TrainedRun) -> Rows:
    """Training and validation loss over a run, from its log, thinned, beside the corpus's entropy (000-5).

    One row per kept step of the log, and one for the end, which has a validation loss only.
    """
    return losses(trained, MOST_ROWS)


LAST = 0.1  # share of the steps behind `training_nats`


@measure(
    recipe=1,
    weights=exact("weights outside token and position embeddings and the unembedding"),
    all_weights=exact("all weights"),
    tokens=exact("targets seen, each token of each batch"),
    epochs_1=numeric("times that the corpus was read", rtol=1e-6),
    operations=exact("forward and backward operations of the whole run, counted"),
    training_nats=numeric("loss per token over the last tenth of the steps", rtol=5e-3),
    validation_nats=numeric("loss per token on held-out documents at the end; nan after a divergence", rtol=5e-3),
    perplexity_1=numeric("exp of the held-out loss", rtol=2e-2),
    floor_perplexity_1=numeric("that of the corpus's own entropy; nan where unknown", rtol=1e-6),
)
def perplexity(trained: TrainedRun) -> Rows:
    """Held-out loss and perplexity of a next-token run at its end, beside its size and its data (000-13).

    One row.
    """
    run, log, done = trained.run, trained.log, trained.ending["steps_done"]
    corpus, model = Path("results/tokens") / str(run.tokens), models.build(run.architecture, **run.hyperparameters)
    counts, (sequences, per_step) = flops.parameters(model), tasks.size(run.task, run.task_parameters)
    held_out, floor = trained.ending["validation_loss"], entropy_per_token(corpus)
    nats = math.nan if held_out is None or trained.diverged else held_out
    yield {
        "weights": counts["non_embedding"],
        "all_weights": counts["total"],
        "tokens": per_step * done,
        "epochs_1": per_step * done / TokenFile(corpus).meta["splits"]["train"]["tokens"],
        "operations": flops.counted_flops(model, sequences) * done,
        "training_nats": end_mean(log["step"].to_numpy(), log["loss"].to_numpy(), LAST),
        "validation_nats": nats,
        "perplexity_1": math.exp(nats),
        "floor_perplexity_1": math.nan if floor is None else math.exp(floor),
    }


COUNTS = ("parameters", "non_embedding_parameters", "supervised_tokens", "six_nd_flops", "counted_flops", "diverged")


@measure(
    recipe=1,
    **{name: cost.columns[name] for name in COUNTS},
    epochs_1=exact("how often each training sequence was seen, on average"),
    validation_nats=numeric("cross-entropy on held-out documents at the end", rtol=5e-3),
)
def scaling(trained: TrainedRun) -> Rows:
    """Size, data, compute by both counts, and held-out loss of a run (000-1 to 000-4).

    One row.
    """
    row = cost(trained)
    task = cast(LastToken, trained.task())
    return row.assign(epochs_1=row["steps_done"] / task.batches_per_epoch)
