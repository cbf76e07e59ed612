"""Retrieval by what a language model learnt: a story's summary finds its story among others.

An embedding is the mean of the last hidden layer over a text's tokens, the model frozen. A ridge regression from
summaries' embeddings to stories', fitted to some pairs, is all that is learnt; other pairs are judged, by cosine.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from allmlp import tokenizers
from allmlp.corpora import stories
from allmlp.models.base import SequenceModel
from allmlp.run import Run

SEED = 2**20  # of the pairs' stories: no corpus has it
FITTED, CANDIDATES, GROUPS = 512, 32, 8
RIDGE = 0.01  # per fitted pair, on standardised embeddings
AT_ONCE = 64

Array = np.ndarray


def top_1(model: SequenceModel, run: Run) -> float:
    """Share of summaries whose own story is the nearest of CANDIDATES; nan where an embedding is not finite."""
    tokenizer = tokenizers.load(Path("results/tokens") / str(run.tokens))
    pairs = [stories.story(SEED, index) for index in range(FITTED + CANDIDATES * GROUPS)]
    queries = embeddings(model, tokenizer.encode_batch([pair.summary for pair in pairs]))
    texts = embeddings(model, tokenizer.encode_batch([pair.text for pair in pairs]))
    if not (np.isfinite(queries).all() and np.isfinite(texts).all()):
        return float("nan")
    return found(queries, texts, FITTED)


@torch.no_grad()
def embeddings(model: SequenceModel, texts: Sequence[Array]) -> Array:
    """(len(texts), D) float64: texts cut to the context; what fills a batch on the right is seen by no token of it."""
    rows = []
    for start in range(0, len(texts), AT_ONCE):
        cut = [text[: model.context].astype(np.int64) for text in texts[start : start + AT_ONCE]]
        tokens = np.zeros((len(cut), model.context), np.int64)
        mask = np.zeros((len(cut), model.context, 1))
        for row, text in enumerate(cut):
            tokens[row, : len(text)], mask[row, : len(text)] = text, 1 / len(text)
        hidden = model.hidden(torch.from_numpy(tokens)).double().numpy()
        rows.append((hidden * mask).sum(axis=1))
    return np.concatenate(rows)


def found(queries: Array, texts: Array, fitted: int) -> float:
    """Share of the pairs after the first `fitted` that a ridge regression on these finds, in groups of CANDIDATES."""
    q, t = (_standardised(part, fitted) for part in (queries, texts))
    gram = q[:fitted].T @ q[:fitted] + RIDGE * fitted * np.eye(q.shape[1])
    mapped = q[fitted:] @ np.linalg.solve(gram, q[:fitted].T @ t[:fitted])
    mine, theirs = (_unit(part).reshape(-1, CANDIDATES, part.shape[1]) for part in (mapped, t[fitted:]))
    nearest = (mine @ theirs.transpose(0, 2, 1)).argmax(axis=2)
    return float(np.mean(nearest == np.arange(CANDIDATES)))


def _standardised(rows: Array, fitted: int) -> Array:
    mean, std = rows[:fitted].mean(axis=0), rows[:fitted].std(axis=0)
    return (rows - mean) / np.where(std > 0, std, 1.0)


def _unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
