"""Training loss with and without dropout of a trained model: why the early GPT's 2.04 is above 1.96 (E001-8)."""

import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.training.loss import cross_entropy

RECIPE = 1
BATCHES = 8  # the last that it was trained on
SEED = 1

COLUMNS = {
    "batches": exact("training batches, the last of the run"),
    "with_dropout_nats": numeric("their mean loss per token with dropout", rtol=1e-2, atol=1e-3),
    "without_dropout_nats": numeric("the same without", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric("loss per token on held-out documents at the end", rtol=5e-3, atol=1e-3),
}


@torch.no_grad()
def measure(trained: Trained) -> pd.DataFrame:
    """One row, from the last weights."""
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
    row = (len(steps), *means, trained.ending["validation_loss"])
    return pd.DataFrame([row], columns=list(COLUMNS))
