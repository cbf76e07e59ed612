"""Weights of the four models at the paper's size (002-10)."""

import pandas as pd

from allmlp import models
from allmlp.columns import exact
from allmlp.protocols import Trained
from allmlp.training import flops

RECIPE = 1
MODELS = ("causal-rn", "linear-causal-rn", "transformer", "linear-transformer")

COLUMNS = {
    "model": exact("architecture"),
    "blocks_and_head": exact("weights of the blocks and of the classifier head, as the paper counts"),
    "total": exact("all weights, both embeddings among them"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per architecture, at the sizes of the run."""
    rows = []
    for name in MODELS:
        counts = flops.parameters(models.build(name, **trained.run.hyperparameters))
        blocks_and_head = counts["non_embedding"] + counts["unembedding"]
        rows.append({"model": name, "blocks_and_head": blocks_and_head, "total": counts["total"]})
    return pd.DataFrame(rows, columns=list(COLUMNS))
