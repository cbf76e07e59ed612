"""Results of a matcher on held-out pairs, with its settings (001-21 to 001-27)."""

import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.mixers.measures.retrieval_curve import held_out
from allmlp.studies.over_steps import mean_at_end
from allmlp.tasks.embeddings import as_read, device_here
from allmlp.tasks.retrieval import Retrieval
from allmlp.tokens.pairs import shared_words

RECIPE = 2

COLUMNS = {
    "candidates": exact("texts that a query is shown, its own among them"),
    "chance_nats": numeric("loss of a guess: the logarithm of the number of candidates", rtol=1e-9),
    "lowest_step": exact("training steps before the lowest held-out loss"),
    "lowest_nats": numeric("lowest loss on held-out pairs, of those taken", rtol=2e-2, atol=5e-3),
    "last_nats": numeric("loss on held-out pairs at the end", rtol=2e-2, atol=5e-3),
    "train_nats": numeric("mean training loss of the last tenth of the steps", rtol=2e-2, atol=5e-3),
    "top_1": numeric("share of held-out queries whose own text comes first, at the end", rtol=0.02, atol=0.02),
    "diverged": exact("did the training stop at a loss that was not finite?"),
    "learning_rate": exact("as set, or as its search chose it"),
    "position": exact("the token whose hidden layer is the embedding"),
    "normalisation": exact("of the embeddings, as set or chosen"),
    "training_queries": exact("pairs that it was trained on"),
    "held_out_queries": exact("held-out pairs"),
    "distinct_1": numeric("held-out queries that no other equals, over all: an equal one cannot be told", rtol=1e-9),
    "shared_words_1": numeric(
        "mean share of a held-out query's content words that are in its text, as far as both are read", rtol=1e-9
    ),
    "truncated_1": numeric("share of held-out texts of which the embedder reads the last tokens only", rtol=1e-9),
    "truncated_queries_1": numeric("the same of held-out queries", rtol=1e-9),
    "embedder_nats": numeric("last held-out loss of the embedder per token", rtol=5e-3, atol=1e-3),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per run."""
    task = trained.task()
    assert isinstance(task, Retrieval)
    pairs, losses, log = task.pairs, held_out(trained), trained.log
    lowest = losses.iloc[int(losses["held_out_nats"].fillna(math.inf).argmin())]
    queries = [tuple(ids.tolist()) for ids in pairs.queries("validation")]
    row = {
        "candidates": task.vocabulary,
        "chance_nats": math.log(task.vocabulary),
        "lowest_step": int(lowest["step"]),
        "lowest_nats": float(lowest["held_out_nats"]),
        "last_nats": float(losses["held_out_nats"].iloc[-1]),
        "train_nats": mean_at_end(log["step"].to_numpy(), log["loss"].to_numpy(), 0.1),
        "top_1": top_1(trained, task),
        "diverged": trained.diverged,
        "learning_rate": trained.learning_rate,
        "position": task.position,
        "normalisation": task.normalisation,
        "training_queries": len(task.raw["train"].queries),
        "held_out_queries": len(queries),
        "distinct_1": sum(queries.count(query) == 1 for query in queries) / len(queries),
        **of_what_is_read(task),
        "embedder_nats": task.parent.ending["validation_loss"],
    }
    return pd.DataFrame([row], columns=list(COLUMNS))


def of_what_is_read(task: Retrieval) -> dict[str, Any]:
    """Shared words and truncation of the held-out pairs, counted on the tokens that the embedder reads."""
    pairs, context = task.pairs, task.parent.run.hyperparameters["context"]
    whole = [[ids[ids != pairs.end] for ids in side("validation")] for side in (pairs.queries, pairs.texts)]
    read = [as_read(side, context, task.position) for side in whole]
    of_queries, of_texts = (
        float(np.mean([len(some) < len(ids) for some, ids in zip(*both, strict=True)]))
        for both in zip(read, whole, strict=True)
    )
    shared = [shared_words(pairs.decode(query), pairs.decode(text)) for query, text in zip(*read, strict=True)]
    return {"shared_words_1": float(np.mean(shared)), "truncated_1": of_texts, "truncated_queries_1": of_queries}


@torch.no_grad()
def top_1(trained: Trained, task: Retrieval) -> float:
    """Share of the held-out draws that the last weights get right."""
    device, right = device_here(trained.run.device), 0
    model = trained.model().to(device)
    for batch in task.validation():
        right += int((model(batch.tokens.to(device)).argmax(dim=-1).cpu() == batch.targets).sum())
    return right / task.validation_draws
