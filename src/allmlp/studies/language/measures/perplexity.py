"""Held-out loss and perplexity of a next-token run at its end, beside its size and its data (000-13)."""

import math
from pathlib import Path

import pandas as pd

from allmlp import models, tasks
from allmlp.columns import exact, numeric
from allmlp.corpora.stories.floor import entropy_per_token
from allmlp.protocols import Trained
from allmlp.studies.over_steps import mean_at_end
from allmlp.tokens import TokenFile
from allmlp.training import flops

RECIPE = 1
LAST = 0.1  # share of the steps behind `training_nats`

COLUMNS = {
    "weights": exact("weights outside token and position embeddings and the unembedding"),
    "all_weights": exact("all weights"),
    "tokens": exact("targets seen, each token of each batch"),
    "epochs_1": numeric("times that the corpus was read", rtol=1e-6),
    "operations": exact("forward and backward operations of the whole run, counted"),
    "training_nats": numeric("loss per token over the last tenth of the steps", rtol=5e-3),
    "validation_nats": numeric("loss per token on held-out documents at the end; nan after a divergence", rtol=5e-3),
    "perplexity_1": numeric("exp of the held-out loss", rtol=2e-2),
    "floor_perplexity_1": numeric("that of the corpus's own entropy; nan where unknown", rtol=1e-6),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row."""
    run, log, done = trained.run, trained.log, trained.ending["steps_done"]
    corpus, model = Path("results/tokens") / str(run.tokens), models.build(run.architecture, **run.hyperparameters)
    counts, (sequences, per_step) = flops.parameters(model), tasks.size(run.task, run.task_parameters)
    held_out, floor = trained.ending["validation_loss"], entropy_per_token(corpus)
    nats = math.nan if held_out is None or trained.diverged else held_out
    row = {
        "weights": counts["non_embedding"],
        "all_weights": counts["total"],
        "tokens": per_step * done,
        "epochs_1": per_step * done / TokenFile(corpus).meta["splits"]["train"]["tokens"],
        "operations": flops.counted_flops(model, sequences) * done,
        "training_nats": mean_at_end(log["step"].to_numpy(), log["loss"].to_numpy(), LAST),
        "validation_nats": nats,
        "perplexity_1": math.exp(nats),
        "floor_perplexity_1": math.nan if floor is None else math.exp(floor),
    }
    return pd.DataFrame([row])[list(COLUMNS)]
