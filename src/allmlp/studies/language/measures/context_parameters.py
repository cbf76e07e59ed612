"""Weights of the MLP against its context at the paper's size, beyond T d^2 (000-14)."""

import pandas as pd
import torch

from allmlp import models
from allmlp.columns import exact
from allmlp.training import flops

RECIPE = 1
CONTEXTS = (1, 2, 4, 8, 15, 16, 32, 64, 128)
PAPER = {"d_model": 512, "d_mlp": 16384}
READINGS = {"all": {}, "without norms": {"norm": False}, "matrices": {"norm": False, "bias": False}}

COLUMNS = {
    "reading": exact("which weights count: the paper does not say whether biases and norms do"),
    "context": exact("context length T"),
    "parameters": exact("weights outside the embeddings"),
    "beyond_context": exact("the same less T d^2"),
}


def measure() -> pd.DataFrame:
    """One row per reading and context; the run's weights are not used."""
    rows = []
    for reading, options in READINGS.items():
        for context in CONTEXTS:
            with torch.device("meta"):
                model = models.build("mlp", vocabulary=1, context=context, **PAPER, **options)
            count = flops.parameters(model)["non_embedding"]
            rows.append((reading, context, count, count - context * PAPER["d_model"] ** 2))
    return pd.DataFrame(rows, columns=list(COLUMNS))
