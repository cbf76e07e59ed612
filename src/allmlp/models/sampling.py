"""Sampling from any architecture: a prompt in, its continuations out, each drawn with its own seed.

>>> from allmlp import models
>>> model = models.build("linear-causal-rn", vocabulary=29, context=34, d_model=48, n_blocks=2)
>>> generate(model, [0, 7, 3], count=20, temperature=0.7, seeds=[0, 1]).shape
torch.Size([2, 20])
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.models.base import SequenceModel


class Reader(Protocol):
    """Reads a growing text: logits (B, V) of the token after `tokens` (B, t), t larger at every call."""

    def __call__(self, tokens_BT: Tensor) -> Tensor: ...


@torch.no_grad()
def generate(
    model: SequenceModel,
    prompt: Sequence[int],
    count: int,
    *,
    temperature: float = 1.0,
    seeds: Sequence[int] = (0,),
    pad: int | None = None,
) -> Tensor:
    """`count` tokens after `prompt` for each of `seeds`: (len(seeds), count) int64, on the CPU, without the prompt.

    A token is drawn from softmax(logits / temperature); temperature 0 takes the largest logit, the first of equals. A
    row depends on its own seed, not on the other rows. Past the model's context see `StepReader` and `WindowReader`;
    `pad` fills the window of the latter from the left where the prompt is too short for it. UserError for an empty
    prompt, ids that the model does not have, a temperature that is not a number from 0 up, no seed, a negative count, a
    prompt shorter than the window without `pad`, and logits that are not numbers (a diverged model).
    """
    _check(model, prompt, count, temperature, seeds, pad)
    steps = model.causal and model.predicts == "all" and hasattr(model, "step")
    reader = StepReader(model) if steps else WindowReader(model, pad)
    device = next(model.parameters()).device
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    tokens_BT = torch.tensor(prompt).repeat(len(seeds), 1)
    for _ in range(count):
        logits_BV = reader(tokens_BT.to(device)).double().cpu()
        if torch.isnan(logits_BV).any():
            raise UserError(f"token {tokens_BT.shape[1]}: the model's logits are not numbers: its training diverged")
        tokens_BT = torch.cat([tokens_BT, draw(logits_BV, temperature, generators)[:, None]], dim=1)
    return tokens_BT[:, len(prompt) :]


@torch.no_grad()
def decode_greedily(model: SequenceModel, prompts_BT: Tensor, count: int) -> Tensor:
    """The likeliest `count` next tokens after each prompt: (B, T) -> (B, count). With a memory where there is one."""
    read: Reader = StepReader(model) if hasattr(model, "step") else lambda tokens_BT: model(tokens_BT)[:, -1]
    tokens_BT = prompts_BT
    for _ in range(count):
        tokens_BT = torch.cat([tokens_BT, read(tokens_BT).argmax(-1)[:, None]], dim=1)
    return tokens_BT[:, prompts_BT.shape[1] :]


def draw(logits_BV: Tensor, temperature: float, generators: Sequence[torch.Generator]) -> Tensor:
    """One token per row, (B,) int64: a uniform number's place in the sums of softmax(logits / temperature)."""
    if temperature == 0:
        return logits_BV.argmax(dim=-1)
    below_BV = (logits_BV - logits_BV.amax(dim=-1, keepdim=True)) / temperature
    sums_BV = below_BV.exp().cumsum(dim=-1)
    uniform_B1 = torch.stack([torch.rand(1, generator=one, dtype=torch.float64) for one in generators])
    return torch.searchsorted(sums_BV, uniform_B1 * sums_BV[:, -1:], right=True)[:, 0].clamp(max=below_BV.shape[1] - 1)


class StepReader:
    """Reads with the model's memory, one step per token (`start`, `step`).

    Learned positions do not allow a full memory to slide. When the context is exceeded, its last half is read again:
    two steps per token on average, and each token is predicted from half a context to a whole one. A prompt longer
    than the context is read in the same way.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.first, self.read, self.state = model, 0, 0, None

    def __call__(self, tokens_BT: Tensor) -> Tensor:
        B, T = tokens_BT.shape
        if self.state is None or T - self.first > self.model.context:
            half = max(1, self.model.context // 2)
            self.first = self.read = 0 if self.model.context >= T else T - half
            self.state = self.model.start(B)
        for token_B in tokens_BT[:, self.read :].unbind(dim=1):
            logits_BV, self.state = self.model.step(token_B, self.state)
        self.read = T
        return logits_BV


class WindowReader:
    """Reads the last `context` tokens again for each token, for models without a memory.

    A model that predicts only the last token gets a whole window, as in training: a shorter text is filled with
    `pad` on the left.
    """

    def __init__(self, model: SequenceModel, pad: int | None) -> None:
        self.model, self.pad = model, pad

    def __call__(self, tokens_BT: Tensor) -> Tensor:
        window_BT = tokens_BT[:, -self.model.context :]
        missing = self.model.context - window_BT.shape[1]
        if self.model.predicts == "all":
            return self.model(window_BT)[:, -1]
        if missing and self.pad is not None:
            window_BT = torch.cat([window_BT.new_full((len(window_BT), missing), self.pad), window_BT], dim=1)
        return self.model(window_BT)


def _check(
    model: SequenceModel, prompt: Sequence[int], count: int, temperature: float, seeds: Sequence[int], pad: int | None
) -> None:
    """UserErrors of `generate`, before anything is read."""
    if not len(prompt):
        raise UserError("prompt: is empty. Give at least one token to go on from.")
    given = [*prompt, *([] if pad is None else [pad])]
    if strange := [token for token in given if not 0 <= token < model.vocabulary]:
        raise UserError(f"prompt: token {strange[0]} is none of the model's 0 to {model.vocabulary - 1}")
    if not (math.isfinite(temperature) and temperature >= 0):
        raise UserError(f"temperature={temperature!r}: it must be a number from 0 (the likeliest token) up")
    if not len(seeds):
        raise UserError("seeds: none is given. Give one for each sample.")
    if count < 0:
        raise UserError(f"count={count}: it must be 0 or more")
    if model.predicts == "last" and pad is None and len(prompt) < model.context:
        raise UserError(
            f"prompt: has {len(prompt)} tokens, and {type(model).__name__} reads exactly {model.context}. "
            f"Give a longer one, or `pad`, a token to fill up with from the left."
        )
