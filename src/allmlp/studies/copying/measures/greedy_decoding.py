"""Copying by greedy decoding of strings that were never seen before (002-4)."""

import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.sampling import greedy
from allmlp.tasks.copying import Copying
from allmlp.tasks.task import IGNORED

RECIPE = 1
STRINGS = 256
SEED = 2**40  # no training has this seed, so its batches are new

COLUMNS = {
    "strings": exact("strings asked for, none of a training batch's draws"),
    "letters_1": numeric("share of letters and ends right, each written after the model's own", rtol=0.02, atol=0.02),
    "strings_1": numeric("share of strings written right from beginning to end", rtol=0.02, atol=0.05),
    "told_letters_1": numeric("share right where the true letters before are given", rtol=0.02, atol=0.02),
    "told_strings_1": numeric("share of strings right where the true letters before are given", rtol=0.02, atol=0.05),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per run, of its last weights."""
    model = trained.model()
    task = Copying(trained.run.task_parameters["string_length"], STRINGS)
    batch = task.batch(SEED, 0)
    with torch.no_grad():
        given = task.scores(model(batch.tokens), batch)
    prompts, true = batch.tokens[:, : task.string_length + 2], batch.targets[batch.targets != IGNORED].view(STRINGS, -1)
    right = greedy(model, prompts, task.string_length + 1) == true
    shares = (part.double().mean().item() for part in (right, right.all(1)))
    return pd.DataFrame([(STRINGS, *shares, given["token_accuracy"], given["string_accuracy"])], columns=list(COLUMNS))
