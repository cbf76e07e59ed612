"""Share of a text's tokens recovered from the last hidden layer, by descent and by a search over tokens (001-28)."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from allmlp.data.tokens import TokenFile
from allmlp.models.base import SequenceModel
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.texts import token_folder

KINDS = ("self", "non-self")
SLOWEST = 0.1  # the last rate over the first: 0.002 over 0.02 in the paper
STEPS = 500  # the paper's
PUBLISHED = 0.02  # the paper's first rate
RATES = (0.002, 0.02, 0.2)  # rates of the search, for every model, with the same number of steps
TEXTS, SEARCH_TEXTS, SEARCH_SEED = 6, 2, 100
TOKENS = 32  # of each text; on a GPU the whole context, as the paper
SEARCHED_TEXTS, SEARCHED_TOKENS = 2, 32  # for the search over tokens, whose cost grows with the vocabulary


@measure(
    recipe=1,
    step=exact("training steps of the weights"),
    tokens=exact("tokens of each text"),
    way=exact("self or non-self by descent, or search"),
    rates=exact("published: the paper's rate; searched: the best of a few on other texts; none for the search"),
    rate_1=exact("first rate of the descent"),
    recovered_1=numeric("share of tokens found; the descent's by the pseudo-inverse", rtol=0.05, atol=0.05),
    nearest_1=numeric("the same, read off by the nearest embedding", rtol=0.05, atol=0.05),
    ceiling_1=numeric("share read off right by the pseudo-inverse from the true embeddings", rtol=0.05, atol=0.05),
)
def recovery(trained: TrainedRun) -> Rows:
    """Share of a text's tokens recovered from the last hidden layer, by descent and by a search over tokens (001-28).

    The descent is the paper's: embeddings x start at random and move against the gradient of sum |hidden(x) -
    hidden(text)|, at a rate that falls linearly to a tenth; then x E^+, with the pseudo-inverse of the embedding matrix
    E (V, D), has its largest entry at the token read off. Here x is counted in units of the embeddings' root mean
    square, so that a rate means the same for Llama's small embeddings as for the paper's mixers, where it is 1.

    "Self" matches the hidden layer at every position. "Non-self" leaves the first half of the positions out of the sum
    and recovers the tokens there, which then act only through the hidden layer at later positions.

    A row per kept step, way and rate; the mean over texts of the validation split.
    """
    run = trained.run
    length = run.hyperparameters["context"] if run.device == "cuda" else min(TOKENS, run.hyperparameters["context"])
    texts_BT = texts(TokenFile(token_folder(trained)), length, SEARCH_TEXTS + TEXTS).to(run.device)
    return [
        {"step": step, "tokens": length, **row}
        for step in trained.steps
        for row in recovery_rows(trained.model(step).to(run.device), texts_BT, run.seed)
    ]


def texts(file: TokenFile, length: int, count: int) -> Tensor:
    """The first `length` tokens of the first `count` validation documents with at least as many: no padding."""
    long = (document for document in file.documents("validation") if len(document) >= length)
    found = [document[:length].astype(np.int64) for document, _ in zip(long, range(count), strict=False)]
    return torch.from_numpy(np.stack(found))


def recovery_rows(model: SequenceModel, texts_BT: Tensor, seed: int, steps: int = STEPS) -> Iterator[dict[str, Any]]:
    """The rows of one model's weights: rates chosen on the first texts, shares of the others."""
    model.requires_grad_(False)  # the input moves, not the weights
    chosen = best_rates(model, texts_BT[:SEARCH_TEXTS], steps)
    asked_BT = texts_BT[SEARCH_TEXTS:]
    truth = embedding(model)(asked_BT).detach()
    ceiling = (read_tokens(model, truth)["inverse"] == asked_BT).double().mean().item()
    rates = {"published": dict.fromkeys(KINDS, PUBLISHED), "searched": chosen}
    settings = sorted({setting for of_kind in rates.values() for setting in of_kind.items()})
    found = dict(zip(settings, _descend_shares(model, asked_BT, settings, steps, seed), strict=True))
    for name, of_kind in rates.items():
        for kind, rate in of_kind.items():
            yield {"way": kind, "rates": name, "rate_1": rate, **found[kind, rate], "ceiling_1": ceiling}
    searched = asked_BT[:SEARCHED_TEXTS, :SEARCHED_TOKENS]
    right = torch.stack([search(model, tokens_T) == tokens_T for tokens_T in searched])
    share = right.double().mean().item()
    yield {"way": "search", "rates": "none", "rate_1": 0.0, "recovered_1": share, "nearest_1": share, "ceiling_1": 1.0}


def best_rates(model: SequenceModel, texts_BT: Tensor, steps: int) -> dict[str, float]:
    """kind -> the rate of RATES that recovers most of these texts; on a tie, the one nearest the paper's."""
    rates = sorted(RATES, key=lambda rate: abs(np.log(rate / PUBLISHED)))
    settings = list(product(KINDS, rates))
    found = dict(zip(settings, _descend_shares(model, texts_BT, settings, steps, SEARCH_SEED), strict=True))
    return {kind: max(rates, key=lambda rate: found[kind, rate]["recovered_1"]) for kind in KINDS}


def _descend_shares(
    model: SequenceModel, texts_BT: Tensor, settings: list[tuple[str, float]], steps: int, seed: int
) -> list[dict[str, float]]:
    """The mean shares over texts for each (kind, rate), all in one batch."""
    rows_BT = texts_BT.repeat(len(settings), 1)
    kinds, rates = zip(*[setting for setting in settings for _ in texts_BT], strict=True)
    x_BTD = descend(model, rows_BT, list(kinds), list(rates), steps, seed)
    by_way = {
        way: shares(found_BT, rows_BT, list(kinds)).view(len(settings), -1).double().mean(1)
        for way, found_BT in read_tokens(model, x_BTD).items()
    }
    return [
        {"recovered_1": float(by_way["inverse"][row]), "nearest_1": float(by_way["nearest"][row])}
        for row in range(len(settings))
    ]


def descend(
    model: SequenceModel, tokens_BT: Tensor, kinds: list[str], rates: list[float], steps: int, seed: int
) -> Tensor:
    """Embeddings x (B, T, D) whose hidden layer was made to match that of `tokens_BT` for `steps` steps.

    kinds, rates: (B,), one per row; rows do not influence each other.
    """
    B, T = tokens_BT.shape
    embeddings_VD = embedding(model).weight.detach()
    scale = embeddings_VD.square().mean().sqrt()
    noise = torch.randn(B, T, embeddings_VD.shape[1], generator=torch.Generator().manual_seed(seed))
    x_BTD = noise.to(embeddings_VD)
    counts_BT = torch.stack([_counts(kind, T) for kind in kinds]).to(embeddings_VD)
    rates_B11 = torch.tensor(rates, dtype=torch.float64)[:, None, None].to(embeddings_VD)
    with torch.no_grad():
        target_BTD = model.hidden(tokens_BT)
    for step in range(steps):
        falling = 1 - (1 - SLOWEST) * step / steps
        x_BTD = x_BTD.detach().requires_grad_()
        distance_BT = (last_hidden_layer(model, scale * x_BTD) - target_BTD).abs().sum(-1)
        (gradient_BTD,) = torch.autograd.grad((counts_BT * distance_BT).sum(), x_BTD)
        x_BTD = x_BTD - falling * rates_B11 * gradient_BTD
    return (scale * x_BTD).detach()


def last_hidden_layer(model: SequenceModel, x_BTD: Tensor) -> Tensor:
    """The last hidden layer for embeddings in place of tokens."""
    handle = embedding(model).register_forward_hook(lambda *_: x_BTD)
    try:
        return model.hidden(torch.zeros(x_BTD.shape[:2], dtype=torch.int64, device=x_BTD.device))
    finally:
        handle.remove()


def read_tokens(model: SequenceModel, x_BTD: Tensor) -> dict[str, Tensor]:
    """Tokens (B, T) of embeddings: by the pseudo-inverse, as the paper does, and by the nearest embedding."""
    embeddings_VD = embedding(model).weight.detach()
    x_BTD = x_BTD.nan_to_num(posinf=0.0, neginf=0.0)
    nearest_BTV = torch.cdist(x_BTD, embeddings_VD.expand(len(x_BTD), -1, -1))
    return {"inverse": (x_BTD @ torch.linalg.pinv(embeddings_VD)).argmax(-1), "nearest": nearest_BTV.argmin(-1)}


def shares(found_BT: Tensor, tokens_BT: Tensor, kinds: list[str]) -> Tensor:
    """(B,): share of the wanted tokens that were found."""
    asked_BT = torch.stack([_wanted_positions(kind, tokens_BT.shape[1]) for kind in kinds]).to(tokens_BT.device)
    return ((found_BT == tokens_BT) & asked_BT).sum(1) / asked_BT.sum(1)


@torch.no_grad()
def search(model: Any, tokens_T: Tensor) -> Tensor:
    """Tokens (T,) found one after the other: the one of all V whose hidden vector, after those before, is nearest.

    A causal model's hidden vector at t depends on the tokens up to t. If different tokens always give different
    vectors, all are found, in T V steps. The model must be able to generate.
    """
    everything_V = torch.arange(model.vocabulary, device=tokens_T.device)
    target_TD = model.hidden(tokens_T[None])[0]
    seen: list[Tensor] = []
    head = model.get_submodule(model.EMBEDDINGS["unembedding"].removesuffix(".weight"))
    handle = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    found, state = [], model.start(model.vocabulary)
    try:
        for target_D in target_TD:
            model.step(everything_V, state)
            best = (seen[-1] - target_D).abs().sum(-1).argmin()
            found.append(best)
            _, state = model.step(best.expand(model.vocabulary), state)
            seen.clear()
    finally:
        handle.remove()
    return torch.stack(found)


def embedding(model: SequenceModel) -> nn.Embedding:
    """The embedding module of a model."""
    return model.get_submodule(model.EMBEDDINGS["token_embedding"].removesuffix(".weight"))  # type: ignore[return-value]


def _counts(kind: str, length: int) -> Tensor:
    """(T,) bool: the positions at which the hidden layer must match."""
    return torch.arange(length) >= (length // 2 if kind == "non-self" else 0)


def _wanted_positions(kind: str, length: int) -> Tensor:
    """(T,) bool: the tokens to recover."""
    return torch.arange(length) < (length // 2 if kind == "non-self" else length)
