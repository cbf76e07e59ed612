"""What a run cost and how it ended: parameters, tokens, FLOPs, held-out loss, seconds. Measured for every run."""

import pandas as pd

from allmlp import models, tasks
from allmlp.columns import exact, numeric, timing
from allmlp.protocols import Trained
from allmlp.training import flops

RECIPE = 1
COLUMNS = {
    "parameters": exact("trained parameters"),
    "non_embedding_parameters": exact("those outside token and position embeddings and the unembedding"),
    "steps_done": exact("updates done"),
    "diverged": exact("did the training stop at a loss that was not finite?"),
    "supervised_tokens": exact("targets that took part in the loss, over the whole run"),
    "six_nd_flops": exact("6 x parameters x supervised tokens"),
    "counted_flops": exact("forward and backward FLOPs of the whole run, counted"),
    "validation_nats": numeric(
        "cross-entropy on held-out documents at the end; NaN where every batch is fresh", rtol=5e-3
    ),
    "seconds": timing("training time on the machine that did it; NaN where unknown"),
    "hardware": timing("what it was trained on"),
    "versions": timing(
        "of Python, torch and NumPy; git's tree of src/ and the digests of recipes' sources, see `allmlp.origins`"
    ),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row."""
    run, done, loss = trained.run, trained.ending["steps_done"], trained.ending["validation_loss"]
    sequences, supervised_per_step = tasks.size(run.task, run.task_parameters)
    supervised = supervised_per_step * done
    model = models.build(run.architecture, **run.hyperparameters)
    counts, spent = flops.parameters(model), trained.timing()
    row = {
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
    return pd.DataFrame([row])[list(COLUMNS)]
