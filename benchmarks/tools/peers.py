"""The models that papers published, beside which whole steps of ours are timed: in plain PyTorch, or Hugging Face's."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import addition
from allmlp import models
from allmlp.models.base import SequenceModel
from gpu import HuggingFace
from relation import PlainRelation

PAD = 0


def with_mixers(name: str, make: Callable[[Any], nn.Module], sizes: dict[str, Any]) -> Callable[[], SequenceModel]:
    """How to build an architecture with the published token mixers."""

    def peer() -> SequenceModel:
        model = models.build(name, **sizes)
        for block in model.blocks:
            block.mixer = make(block.mixer)
        return model

    return peer


class PlainAttention(nn.Module):
    """Softmax attention of one head with all T x T scores."""

    def __init__(self, d_model: int, context: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.register_buffer("future", torch.ones(context, context, dtype=torch.bool).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        future = self.get_buffer("future")[: x.shape[1], : x.shape[1]]
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        return self.out(scores.softmax(-1) @ v)


class PlainLinearAttention(PlainAttention):
    """Linear attention by all T x T products, which at these lengths is faster than running sums."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        scores = (q @ k.mT).tril()
        return self.out(scores @ v / scores.sum(-1, keepdim=True))


class PlainLinearRelation(PlainRelation):
    """The text's snippet: the logarithm of a running sum of exponentials."""

    def forward(self, x: Tensor) -> Tensor:
        p, q = self._project(x)
        counts = torch.arange(1, x.shape[1] + 1, device=x.device).log()[:, None]
        return self._finish((q + torch.logcumsumexp(p, dim=1) - counts).exp())


class PlainTriangles(nn.Module):
    """Two masked linear maps over time in turn: on transposed tokens, or on rows as the published code reads them."""

    def __init__(self, mixing: Any) -> None:
        super().__init__()
        self.triangles, self.form = mixing.triangles, mixing.form

    def forward(self, x: Tensor) -> Tensor:
        reshaped = self.form == "reshape"
        y = x.reshape(len(x), -1, x.shape[1]) if reshaped else x.mT
        for triangle in self.triangles:
            y = F.linear(y, triangle.weight.tril() * triangle.averaging)
        return y.reshape(x.shape) if reshaped else y.mT


class MaskedConv(nn.Module):
    """The flat mixer's layer with the mask in the product: the compiler refuses the published one, which writes into
    its weights in the forward pass."""

    def __init__(self, context: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(context, context, 1)
        self.register_buffer("mask", torch.ones(context, context, 1).tril())

    def forward(self, x: Tensor) -> Tensor:
        return F.conv1d(x, self.conv.weight * self.get_buffer("mask"), self.conv.bias)


class PlainAddition(nn.Module):
    """The network of 003 as a transformer computes it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return addition.plain(self.model, tokens)


class OfLibrary(nn.Module):
    """A model of transformers with our sizes: its Llama as `gpu.py` builds it, or GPT-1. With a mask of the padding
    where that is on the left."""

    def __init__(self, kind: str, padding: str, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.padding = padding
        if kind == "llama":
            self.model = HuggingFace(**sizes, n_heads=4).model
            self.model.config.use_cache = False  # of keys and values, which training never reads again
            return
        import transformers

        named = {"n_positions": sizes["context"], "n_embd": sizes["d_model"], "n_layer": sizes["n_blocks"]}
        config = transformers.OpenAIGPTConfig(vocab_size=sizes["vocabulary"], n_head=4, **named)
        self.model = transformers.OpenAIGPTLMHeadModel(config)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = (tokens != PAD).long() if self.padding == "left" else None
        return self.model(tokens, attention_mask=mask).logits


OF_002: dict[str, Callable[[Any], nn.Module]] = {  # a layer of ours -> the published one
    "transformer": lambda mixer: PlainAttention(mixer.d_model, mixer.context),
    "linear-transformer": lambda mixer: PlainLinearAttention(mixer.d_model, mixer.context),
    "causal-rn": lambda mixer: PlainRelation(mixer.d_model, mixer.context),
    "linear-causal-rn": lambda mixer: PlainLinearRelation(mixer.d_model, mixer.context, pre_norm="approximate"),
}
