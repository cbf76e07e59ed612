"""Retrieval with a trained language model: a story's summary finds its story among others.

An embedding is the mean of the frozen model's last hidden layer over a text's tokens. A ridge regression from
embeddings of summaries to those of stories is fitted to some pairs; the other pairs are judged by cosine.

Only the last tokens of a text longer than the context are read, as in study 001 (`tasks.embeddings`). There an
embedding may be taken at the end of a text, so the end must be read. A mean over tokens could use any part; using the
same part makes the two studies comparable. The share of cut texts is measured too. It is the same for every model of a
task, because context and tokenizer are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from allmlp.data import tokenizers
from allmlp.data.corpora import stories
from allmlp.models.base import SequenceModel
from allmlp.spec.run import Run

SEED = 2**20  # a split of the pairs' stories that no corpus has
FITTED, CANDIDATES, GROUPS = 512, 32, 8
RIDGE = 0.01  # per fitted pair, on standardised embeddings
AT_ONCE = 64

Array = np.ndarray


class RetrievalShares(NamedTuple):
    """Shares, 0 to 1: summaries that find their story; stories and summaries that are longer than a context.

    `top_1` is nan if an embedding is not finite.
    """

    top_1: float
    cut_stories: float
    cut_summaries: float


def score_retrieval(model: SequenceModel, run: Run) -> RetrievalShares:
    """How often a summary's own story is the nearest of CANDIDATES, and the shares of texts that were cut."""
    tokenizer = tokenizers.load(Path("results/tokens") / str(run.tokens))
    pairs = [stories.story(SEED, index) for index in range(FITTED + CANDIDATES * GROUPS)]
    summaries = tokenizer.encode_batch([pair.summary for pair in pairs])
    texts = tokenizer.encode_batch([pair.text for pair in pairs])
    of_summaries, of_texts = embeddings(model, summaries), embeddings(model, texts)
    finite = np.isfinite(of_summaries).all() and np.isfinite(of_texts).all()
    top_1 = retrieval_accuracy(of_summaries, of_texts, FITTED) if finite else float("nan")
    return RetrievalShares(top_1, truncated_share(texts, model.context), truncated_share(summaries, model.context))


def truncated_share(texts: Sequence[Array], context: int) -> float:
    """Share of the texts that have more tokens than the context holds."""
    return float(np.mean([len(text) > context for text in texts]))


@torch.no_grad()
def embeddings(model: SequenceModel, texts: Sequence[Array]) -> Array:
    """(len(texts), D) float64, from the last tokens of each text, as many as the context holds.

    Padding on the right is invisible to the tokens of a causal model.
    """
    rows = []
    for start in range(0, len(texts), AT_ONCE):
        kept = [text[-model.context :].astype(np.int64) for text in texts[start : start + AT_ONCE]]
        tokens = np.zeros((len(kept), model.context), np.int64)
        mask = np.zeros((len(kept), model.context, 1))
        for row, text in enumerate(kept):
            tokens[row, : len(text)], mask[row, : len(text)] = text, 1 / len(text)
        hidden = model.hidden(torch.from_numpy(tokens)).double().numpy()
        rows.append((hidden * mask).sum(axis=1))
    return np.concatenate(rows)


def retrieval_accuracy(queries: Array, texts: Array, fitted: int) -> float:
    """Share of correct pairs in groups of CANDIDATES, by a ridge regression on the first `fitted` pairs, judged on the
    rest."""
    q, t = (_standardise(part, fitted) for part in (queries, texts))
    gram = q[:fitted].T @ q[:fitted] + RIDGE * fitted * np.eye(q.shape[1])
    mapped = q[fitted:] @ np.linalg.solve(gram, q[:fitted].T @ t[:fitted])
    mine, theirs = (_unit(part).reshape(-1, CANDIDATES, part.shape[1]) for part in (mapped, t[fitted:]))
    nearest = (mine @ theirs.transpose(0, 2, 1)).argmax(axis=2)
    return float(np.mean(nearest == np.arange(CANDIDATES)))


def _standardise(rows: Array, fitted: int) -> Array:
    mean, std = rows[:fitted].mean(axis=0), rows[:fitted].std(axis=0)
    return (rows - mean) / np.where(std > 0, std, 1.0)


def _unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
