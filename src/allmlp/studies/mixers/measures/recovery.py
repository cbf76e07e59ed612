"""Share of a text's tokens recovered from the last hidden layer, by descent and by a search over tokens (001-28)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.studies.mixers import recovery
from allmlp.tokens import TokenFile

RECIPE = 1
STEPS = 500  # the paper's
PUBLISHED = 0.02  # the paper's first rate
RATES = (0.002, 0.02, 0.2)  # rates of the search, for every model, with the same number of steps
TEXTS, SEARCH_TEXTS, SEARCH_SEED = 6, 2, 100
TOKENS = 32  # of each text; on a GPU the whole context, as the paper
SEARCHED_TEXTS, SEARCHED_TOKENS = 2, 32  # for the search over tokens, whose cost grows with the vocabulary

COLUMNS = {
    "step": exact("training steps of the weights"),
    "tokens": exact("tokens of each text"),
    "way": exact("self or non-self by descent, or search"),
    "rates": exact("published: the paper's rate; searched: the best of a few on other texts; none for the search"),
    "rate_1": exact("first rate of the descent"),
    "recovered_1": numeric("share of tokens found; the descent's by the pseudo-inverse", rtol=0.05, atol=0.05),
    "nearest_1": numeric("the same, read off by the nearest embedding", rtol=0.05, atol=0.05),
    "ceiling_1": numeric("share read off right by the pseudo-inverse from the true embeddings", rtol=0.05, atol=0.05),
}


def measure(trained: Trained) -> pd.DataFrame:
    """A row per kept step, way and rate; the mean over texts of the validation split."""
    run = trained.run
    length = run.hyperparameters["context"] if run.device == "cuda" else min(TOKENS, run.hyperparameters["context"])
    texts_BT = texts(Path("results/tokens") / str(run.tokens), length, SEARCH_TEXTS + TEXTS).to(run.device)
    rows = [
        {"step": step, "tokens": length, **row}
        for step in trained.steps
        for row in of_model(trained.model(step).to(run.device), texts_BT, run.seed)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def texts(tokens: Path, length: int, count: int) -> Tensor:
    """The first `length` tokens of the first `count` validation documents with at least as many: no padding."""
    long = (document for document in TokenFile(tokens).documents("validation") if len(document) >= length)
    found = [document[:length].astype(np.int64) for document, _ in zip(long, range(count), strict=False)]
    return torch.from_numpy(np.stack(found))


def of_model(model: SequenceModel, texts_BT: Tensor, seed: int, steps: int = STEPS) -> Iterator[dict[str, Any]]:
    """The rows of one model's weights: rates chosen on the first texts, shares of the others."""
    model.requires_grad_(False)  # the input moves, not the weights
    chosen = best_rates(model, texts_BT[:SEARCH_TEXTS], steps)
    asked_BT = texts_BT[SEARCH_TEXTS:]
    truth = recovery.embedding(model)(asked_BT).detach()
    ceiling = (recovery.read_off(model, truth)["inverse"] == asked_BT).double().mean().item()
    rates = {"published": dict.fromkeys(recovery.KINDS, PUBLISHED), "searched": chosen}
    settings = sorted({setting for of_kind in rates.values() for setting in of_kind.items()})
    found = dict(zip(settings, _descended(model, asked_BT, settings, steps, seed), strict=True))
    for name, of_kind in rates.items():
        for kind, rate in of_kind.items():
            yield {"way": kind, "rates": name, "rate_1": rate, **found[kind, rate], "ceiling_1": ceiling}
    searched = asked_BT[:SEARCHED_TEXTS, :SEARCHED_TOKENS]
    right = torch.stack([recovery.search(model, tokens_T) == tokens_T for tokens_T in searched])
    share = right.double().mean().item()
    yield {"way": "search", "rates": "none", "rate_1": 0.0, "recovered_1": share, "nearest_1": share, "ceiling_1": 1.0}


def best_rates(model: SequenceModel, texts_BT: Tensor, steps: int) -> dict[str, float]:
    """kind -> the rate of RATES that recovers most of these texts; on a tie, the one nearest the paper's."""
    settings = [
        (kind, rate) for kind in recovery.KINDS for rate in sorted(RATES, key=lambda r: abs(np.log(r / PUBLISHED)))
    ]
    found = _descended(model, texts_BT, settings, steps, SEARCH_SEED)
    best: dict[str, tuple[float, float]] = {}
    for (kind, rate), shares in zip(settings, found, strict=True):
        if kind not in best or shares["recovered_1"] > best[kind][0]:
            best[kind] = (shares["recovered_1"], rate)
    return {kind: rate for kind, (_, rate) in best.items()}


def _descended(
    model: SequenceModel, texts_BT: Tensor, settings: list[tuple[str, float]], steps: int, seed: int
) -> list[dict[str, float]]:
    """The mean shares over texts for each (kind, rate), all in one batch."""
    rows_BT = texts_BT.repeat(len(settings), 1)
    kinds, rates = zip(*[setting for setting in settings for _ in texts_BT], strict=True)
    x_BTD = recovery.descend(model, rows_BT, list(kinds), list(rates), steps, seed)
    by_way = {
        way: recovery.shares(found_BT, rows_BT, list(kinds)).view(len(settings), -1).double().mean(1)
        for way, found_BT in recovery.read_off(model, x_BTD).items()
    }
    return [
        {"recovered_1": float(by_way["inverse"][row]), "nearest_1": float(by_way["nearest"][row])}
        for row in range(len(settings))
    ]
