"""Copying by greedy decoding of strings that were never seen before (002-4)."""

import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.sampling import Reader, StepReader
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
        right = decode(model, batch.tokens[:, : task.string_length + 2]) == batch.targets[
            batch.targets != IGNORED
        ].view(STRINGS, -1)
    row = {
        "strings": STRINGS,
        "letters_1": right.double().mean().item(),
        "strings_1": right.all(1).double().mean().item(),
        "told_letters_1": given["token_accuracy"],
        "told_strings_1": given["string_accuracy"],
    }
    return pd.DataFrame([row], columns=list(COLUMNS))


def decode(model: SequenceModel, prompts_BT: Tensor) -> Tensor:
    """The likeliest next token, again and again, until string and end are written: (B, n + 2) -> (B, n + 1).

    With the model's memory if it has one, else by a full pass per token.
    """
    read: Reader = StepReader(model) if hasattr(model, "step") else lambda tokens_BT: model(tokens_BT)[:, -1]
    tokens_BT, length = prompts_BT, prompts_BT.shape[1]
    for _ in range(length - 1):
        tokens_BT = torch.cat([tokens_BT, read(tokens_BT).argmax(-1)[:, None]], dim=1)
    return tokens_BT[:, length:]
