"""Retrieval without a matcher: the text with the embedding nearest to the query's, on the same draws (001-21)."""

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.tasks.embeddings import Normalisation
from allmlp.tasks.retrieval import Retrieval

RECIPE = 1
METRICS = ("cosine", "l1", "l2")
NORMALISATIONS: tuple[Normalisation, ...] = ("none", "standardised")  # as published, and as a matcher may get them

COLUMNS = {
    "metric": exact("distance between query and text"),
    "normalisation": exact("of the embeddings, each side by its own training split"),
    "candidates": exact("texts that a query is shown"),
    "top_1": numeric("share of held-out queries whose own text is the nearest", rtol=0.02, atol=0.01),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per metric and normalisation."""
    task = trained.task()
    assert isinstance(task, Retrieval)
    drawn, rows = task.held_out(), []
    for normalisation in NORMALISATIONS:
        queries_ND, texts_ND = task.as_normalised(normalisation, "validation")
        candidates_BCD = texts_ND[torch.from_numpy(drawn.candidates)]
        for metric in METRICS:
            distances_BC = distance(queries_ND[torch.from_numpy(drawn.queries)], candidates_BCD, metric)
            top_1 = np.mean(distances_BC.argmin(dim=1).numpy() == drawn.places)
            rows.append((metric, normalisation, task.vocabulary, float(top_1)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def distance(queries_BD: Tensor, candidates_BCD: Tensor, metric: str) -> Tensor:
    """(B, D), (B, C, D) -> (B, C): 1 - cos(q, t), sum |q - t|, or the Euclidean distance."""
    if metric == "cosine":
        return 1 - torch.cosine_similarity(queries_BD[:, None], candidates_BCD, dim=-1)
    return torch.linalg.vector_norm(queries_BD[:, None] - candidates_BCD, ord={"l1": 1, "l2": 2}[metric], dim=-1)
