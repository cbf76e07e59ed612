"""What a matcher learns and finds."""

import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from allmlp.data.tasks.embeddings import available_device, truncate_texts
from allmlp.data.tasks.retrieval import Retrieval
from allmlp.data.tokens.pairs import shared_words
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.curve_statistics import end_mean
from allmlp.studies.shared.curves import append_end, sample_held_out

MOST_ROWS = 60
SMOOTHED = 25  # steps; a single batch has few queries, and a noisy loss


@measure(
    recipe=1,
    step=exact("training steps done"),
    loss_nats=numeric("mean training loss of the steps before, up to 25; nan at the end", rtol=2e-2, atol=5e-3),
    held_out_nats=numeric("loss on held-out pairs; nan where it was not taken", rtol=2e-2, atol=5e-3),
)
def retrieval_curve(trained: TrainedRun) -> Rows:
    """A matcher's training and held-out loss over its steps (001-22, 001-23).

    One row per kept step, and one for the end.
    """
    smooth = trained.log["loss"].rolling(SMOOTHED, min_periods=1).mean()
    rows = sample_held_out(trained.log.assign(loss=smooth), MOST_ROWS, "held_out_nats")
    return append_end(rows, trained, held_out_nats=trained.ending["validation_loss"])


def held_out_losses(trained: TrainedRun) -> pd.DataFrame:
    """Columns step, held_out_nats: where the loss on held-out pairs was taken, the end last."""
    log = trained.log
    taken = log.loc[log["validation_loss"].notna(), ["step", "validation_loss"]]
    taken = taken.rename(columns={"validation_loss": "held_out_nats"})
    end = {"step": trained.ending["steps_done"], "held_out_nats": trained.ending["validation_loss"]}
    return pd.concat([taken, pd.DataFrame([end])], ignore_index=True)


@measure(
    recipe=2,
    candidates=exact("texts that a query is shown, its own among them"),
    chance_nats=numeric("loss of a guess: the logarithm of the number of candidates", rtol=1e-9),
    lowest_step=exact("training steps before the lowest held-out loss"),
    lowest_nats=numeric("lowest loss on held-out pairs, of those taken", rtol=2e-2, atol=5e-3),
    last_nats=numeric("loss on held-out pairs at the end", rtol=2e-2, atol=5e-3),
    train_nats=numeric("mean training loss of the last tenth of the steps", rtol=2e-2, atol=5e-3),
    top_1=numeric("share of held-out queries whose own text comes first, at the end", rtol=0.02, atol=0.02),
    diverged=exact("did the training stop at a loss that was not finite?"),
    learning_rate=exact("as set, or as its search chose it"),
    position=exact("the token whose hidden layer is the embedding"),
    normalisation=exact("of the embeddings, as set or chosen"),
    training_queries=exact("pairs that it was trained on"),
    held_out_queries=exact("held-out pairs"),
    distinct_1=numeric("held-out queries that no other equals, over all: an equal one cannot be told", rtol=1e-9),
    shared_words_1=numeric(
        "mean share of a held-out query's content words that are in its text, as far as both are read", rtol=1e-9
    ),
    truncated_1=numeric("share of held-out texts of which the embedder reads the last tokens only", rtol=1e-9),
    truncated_queries_1=numeric("the same of held-out queries", rtol=1e-9),
    embedder_nats=numeric("last held-out loss of the embedder per token", rtol=5e-3, atol=1e-3),
)
def retrieval(trained: TrainedRun) -> Rows:
    """Results of a matcher on held-out pairs, with its settings (001-21 to 001-27).

    One row per run.
    """
    task = trained.task()
    assert isinstance(task, Retrieval)
    pairs, losses, log = task.pairs, held_out_losses(trained), trained.log
    lowest = losses.iloc[int(losses["held_out_nats"].fillna(math.inf).argmin())]
    queries = [tuple(ids.tolist()) for ids in pairs.queries("validation")]
    yield {
        "candidates": task.vocabulary,
        "chance_nats": math.log(task.vocabulary),
        "lowest_step": int(lowest["step"]),
        "lowest_nats": float(lowest["held_out_nats"]),
        "last_nats": float(losses["held_out_nats"].iloc[-1]),
        "train_nats": end_mean(log["step"].to_numpy(), log["loss"].to_numpy(), 0.1),
        "top_1": top_1(trained, task),
        "diverged": trained.diverged,
        "learning_rate": trained.learning_rate,
        "position": task.position,
        "normalisation": task.normalisation,
        "training_queries": len(task.raw["train"].queries),
        "held_out_queries": len(queries),
        "distinct_1": sum(queries.count(query) == 1 for query in queries) / len(queries),
        **read_text_counts(task),
        "embedder_nats": task.parent.ending["validation_loss"],
    }


def read_text_counts(task: Retrieval) -> dict[str, Any]:
    """Shared words and truncation of the held-out pairs, counted on the tokens that the embedder reads."""
    pairs, context = task.pairs, task.parent.run.hyperparameters["context"]
    whole = [[ids[ids != pairs.end] for ids in side("validation")] for side in (pairs.queries, pairs.texts)]
    read = [truncate_texts(side, context, task.position) for side in whole]
    of_queries, of_texts = (
        float(np.mean([len(some) < len(ids) for some, ids in zip(*both, strict=True)]))
        for both in zip(read, whole, strict=True)
    )
    shared = [shared_words(pairs.decode(query), pairs.decode(text)) for query, text in zip(*read, strict=True)]
    return {"shared_words_1": float(np.mean(shared)), "truncated_1": of_texts, "truncated_queries_1": of_queries}


@torch.no_grad()
def top_1(trained: TrainedRun, task: Retrieval) -> float:
    """Share of the held-out draws that the last weights get right."""
    device, right = available_device(trained.run.device), 0
    model = trained.model().to(device)
    for batch in task.validation():
        right += int((model(batch.tokens.to(device)).argmax(dim=-1).cpu() == batch.targets).sum())
    return right / task.validation_draws


REPLACED = 8  # queries of the first held-out batch, one after the other


@measure(
    recipe=1,
    own_change_1=numeric("largest change of the query's own scores (logits); 0 is exact", rtol=0.5),
    others_change_1=numeric("largest change of any other query's scores (logits); 0 is exact", rtol=0.5),
)
@torch.no_grad()
def query_effect(trained: TrainedRun) -> Rows:
    """The effect of replacing a query on its own scores, and on those of its neighbours in the batch (001-27).

    One row per run, of its last weights.
    """
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
    return [(own, others)]
