"""The effect of replacing a query on its own scores, and on those of its neighbours in the batch (001-27)."""

import pandas as pd
import torch

from allmlp.columns import numeric
from allmlp.protocols import Trained
from allmlp.tasks.retrieval import Retrieval

RECIPE = 1
REPLACED = 8  # queries of the first held-out batch, one after the other

COLUMNS = {
    "own_change_1": numeric("largest change of the query's own scores (logits); 0 is exact", rtol=0.5),
    "others_change_1": numeric("largest change of any other query's scores (logits); 0 is exact", rtol=0.5),
}


@torch.no_grad()
def measure(trained: Trained) -> pd.DataFrame:
    """One row per run, of its last weights."""
    task, model = trained.task(), trained.model()
    assert isinstance(task, Retrieval)
    batch = task.validation()[0].tokens
    scores, own, others = model(batch), 0.0, 0.0
    for row in range(min(REPLACED, len(batch))):
        replaced = batch.clone()
        replaced[row, 0] = batch[(row + 1) % len(batch), 0]
        change = (model(replaced) - scores).abs()
        own = max(own, change[row].max().item())
        change[row] = 0
        others = max(others, change.max().item())
    return pd.DataFrame([(own, others)], columns=list(COLUMNS))
