"""What an architecture can do, and how well a run does it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from allmlp.data.tasks.recall import Recall
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.models.base import SequenceModel
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.crossover.fits import list_misfits
from allmlp.studies.crossover.retrieval import CANDIDATES, score_retrieval


@measure(
    recipe=2,
    architecture=exact("name in the registry"),
    task=exact("row of the matrix"),
    reason=exact("why it cannot do the task, in a sentence; empty where it can"),
)
def abilities() -> Rows:
    """Which architecture of the registry can do which task, and why the others cannot. Measured once, without training.

    One row per architecture and task, in the registry's order.
    """
    return list_misfits()


FRESH, FRESH_BATCHES = 2**41, 8  # the seed of the evaluated batches of a task without held-out data
LOSSES = ("next-token",)  # tasks judged by their loss; all others by their accuracy


@measure(
    recipe=3,
    task=exact("row of the matrix: the run's task, or retrieval by what it learnt"),
    metric=exact("accuracy: share of targets right; nats: mean cross-entropy; top-1: share of texts found"),
    value=numeric("the metric on held-out targets after the last step", rtol=5e-2, atol=5e-2),
    guess=numeric("the same of the best blind answer; of recall, of the best that looks up no key", rtol=1e-4),
    skill_1=numeric("(value - guess) / (perfect - guess); 0 where answers are not finite", rtol=5e-2, atol=5e-2),
    cut_stories=numeric(
        "retrieval: share of stories that are longer than the context, whose last tokens alone are read; else nan",
        rtol=1e-9,
    ),
    cut_summaries=numeric("retrieval: the same share of summaries; else nan", rtol=1e-9),
    learning_rate_1=exact("its maximum, as the search chose it"),
)
def score(trained: TrainedRun) -> Rows:
    """How well a run does its task at the end, also as a share of what could be learnt; for stories also retrieval.

    skill = (value - guess) / (perfect - guess): 0 for the best constant answer, 1 for no error. For
    accuracies, guess is the share of the commonest target and perfect is 1. For recall, guess is the best answer that
    knows the shown values but looks up no key. For losses, guess is the entropy of the targets' frequencies and perfect
    is 0 nats. No text allows 0 nats, so skills of text only serve comparisons.

    One row, two for stories.
    """
    model, task = trained.model(), trained.task()
    held_out = task.validation() or [task.batch(FRESH, number) for number in range(FRESH_BATCHES)]
    by_loss, name = trained.run.task in LOSSES, str(trained.run.labels["task"])
    value, guess = _score_batches(model, held_out, by_loss)
    if isinstance(task, Recall):
        guess = float(np.mean([task.baseline_accuracy(batch) for batch in held_out]))
    rows = [_row(name, "nats" if by_loss else "accuracy", value, guess)]
    if name == "stories":
        found = score_retrieval(model, trained.run)
        cut = {"cut_stories": found.cut_stories, "cut_summaries": found.cut_summaries}
        rows.append(_row("retrieval", "top-1", found.top_1, 1 / CANDIDATES) | cut)
    return pd.DataFrame(rows).assign(learning_rate_1=trained.learning_rate)


def _row(task: str, metric: str, value: float, guess: float) -> dict[str, Any]:
    skill = _skill(value, guess, by_loss=metric == "nats")
    nothing_cut = {"cut_stories": math.nan, "cut_summaries": math.nan}
    return {"task": task, "metric": metric, "value": value, "guess": guess, "skill_1": skill, **nothing_cut}


@torch.no_grad()
def _score_batches(model: SequenceModel, batches: list[Batch], by_loss: bool) -> tuple[float, float]:
    """(accuracy or mean loss, that of the best constant answer) over all supervised targets.

    The first is nan if a logit is: `argmax` returns an index even for nan, but that is not an answer.
    """
    counts, total = torch.zeros(model.vocabulary, dtype=torch.float64), 0.0
    for batch in batches:
        supervised = batch.targets != IGNORED
        logits, targets = model(batch.tokens)[supervised].double(), batch.targets[supervised]
        counts += torch.bincount(targets, minlength=len(counts))
        if by_loss:
            total += torch.nn.functional.cross_entropy(logits, targets, reduction="sum").item()
        elif logits.isnan().any():
            total = math.nan
        else:
            total += (logits.argmax(dim=-1) == targets).sum().item()
    shares = (counts / counts.sum()).numpy()
    entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    return total / counts.sum().item(), entropy if by_loss else float(shares.max())


def _skill(value: float, guess: float, by_loss: bool) -> float:
    if not math.isfinite(value):
        return 0.0
    return 1 - value / guess if by_loss else (value - guess) / (1 - guess)
