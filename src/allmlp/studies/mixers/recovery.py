"""How much of the input can be recovered from the last hidden layer: by descent on embeddings, and by a token search.

The descent is the paper's (001-28): embeddings x start at random and move against the gradient of
sum |hidden(x) - hidden(text)|, at a rate that falls linearly to a tenth; then x E^+, with the pseudo-inverse of the
embedding matrix E (V, D), has its largest entry at the token read off. Here x is counted in units of the embeddings'
root mean square, so that a rate means the same for Llama's small embeddings as for the paper's mixers, where it is 1.

"Self" matches the hidden layer at every position. "Non-self" leaves the first half of the positions out of the sum and
recovers the tokens there, which then act only through the hidden layer at later positions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from allmlp.models.base import SequenceModel

KINDS = ("self", "non-self")
SLOWEST = 0.1  # the last rate over the first: 0.002 over 0.02 in the paper


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
        distance_BT = (hidden(model, scale * x_BTD) - target_BTD).abs().sum(-1)
        (gradient_BTD,) = torch.autograd.grad((counts_BT * distance_BT).sum(), x_BTD)
        x_BTD = x_BTD - falling * rates_B11 * gradient_BTD
    return (scale * x_BTD).detach()


def hidden(model: SequenceModel, x_BTD: Tensor) -> Tensor:
    """The last hidden layer for embeddings in place of tokens."""
    with _replaced(embedding(model), lambda _: x_BTD):
        return model.hidden(torch.zeros(x_BTD.shape[:2], dtype=torch.int64, device=x_BTD.device))


def read_off(model: SequenceModel, x_BTD: Tensor) -> dict[str, Tensor]:
    """Tokens (B, T) of embeddings: by the pseudo-inverse, as the paper does, and by the nearest embedding."""
    embeddings_VD = embedding(model).weight.detach()
    x_BTD = x_BTD.nan_to_num(posinf=0.0, neginf=0.0)
    nearest_BTV = torch.cdist(x_BTD, embeddings_VD.expand(len(x_BTD), -1, -1))
    return {
        "inverse": (x_BTD @ torch.linalg.pinv(embeddings_VD)).argmax(-1),
        "nearest": nearest_BTV.argmin(-1),
    }


def shares(found_BT: Tensor, tokens_BT: Tensor, kinds: list[str]) -> Tensor:
    """(B,): share of the wanted tokens that were found."""
    asked_BT = torch.stack([_asked(kind, tokens_BT.shape[1]) for kind in kinds]).to(tokens_BT.device)
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


@contextmanager
def _replaced(module: nn.Module, output: Callable[[Any], Tensor]) -> Iterator[None]:
    """Inside, `module` gives `output(inputs)` in place of its own."""
    handle = module.register_forward_hook(lambda _, inputs, __: output(inputs))
    try:
        yield
    finally:
        handle.remove()


def _counts(kind: str, length: int) -> Tensor:
    """(T,) bool: the positions at which the hidden layer must match."""
    return torch.arange(length) >= (length // 2 if kind == "non-self" else 0)


def _asked(kind: str, length: int) -> Tensor:
    """(T,) bool: the tokens to recover."""
    return torch.arange(length) < (length // 2 if kind == "non-self" else length)
