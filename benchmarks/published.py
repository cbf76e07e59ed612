"""Whole training steps of this project beside the same steps as the published code takes them, in one run.

    python benchmarks/published.py             print; about 9 minutes on 1 core of a CPU
    python benchmarks/published.py --write     and keep, in benchmarks/published.json

A step is forward, loss, backward, clipping and AdamW in float32, on the same batch. The published step computes the
logits of all positions, padding among them, and takes PyTorch's AdamW by default. Its Llama and GPT-1 are Hugging
Face's, which 001 calls; its other layers are written here in plain PyTorch, as the papers and their code describe them.
Rows of 001 are as long as TinyStories: in 2,317 of these, with 4,096 byte-pair types of their own, the logarithm of the
length has mean 5.3 and deviation 0.36. The eight rows are at eight quantiles of that, 512 tokens at most, so 58 % of
the positions are padding. Both steps take turns, and a ratio is the median of the pairs' ratios. `bfloat16`: our step
again under autocast, which pays where the CPU has such products. Our trainings count subnormal numbers as zero, which
pays once a task is learned.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import addition
import tools
from allmlp import models
from allmlp.common import paths
from allmlp.data.tasks.next_token import NextToken
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.models.base import SequenceModel
from allmlp.training.environment import provenance
from allmlp.training.loop import adamw
from allmlp.training.loss import Loss, cross_entropy
from allmlp.training.memory import keep_freed_blocks
from allmlp.training.subnormals import flush_to_zero
from gpu import HuggingFace
from mixer import ConvMixing
from relation import PlainRelation

FILE = Path(__file__).with_suffix(".json")
PAIRS = 17
LEARNED = 400  # updates of modular addition: all its answers are right
PAD, MEAN, DEVIATION = 0, 5.3, 0.36
OPTIMISER = {"learning_rate": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}
STORIES = {"vocabulary": 4096, "context": 512, "d_model": 256, "n_blocks": 4}
STRINGS = {"vocabulary": 29, "d_model": 192, "n_blocks": 6}
Step = Callable[[], object]


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
    """Two masked linear maps over time, one after the other, on transposed tokens."""

    def __init__(self, mixing: Any) -> None:
        super().__init__()
        self.triangles = mixing.triangles

    def forward(self, x: Tensor) -> Tensor:
        for triangle in self.triangles:
            x = F.linear(x.mT, triangle.weight.tril() * triangle.averaging).mT
        return x


def with_mixer(name: str, make: Callable[[Any], nn.Module], **sizes: Any) -> SequenceModel:
    """An architecture with other token mixers."""
    torch.manual_seed(0)
    model = models.build(name, **sizes)
    for block in model.blocks:
        block.mixer = make(block.mixer)
    return model


def of_library(kind: str) -> Any:
    """A model of transformers: its Llama as `gpu.py` builds it, or GPT-1."""
    if kind == "llama":
        model = HuggingFace(**STORIES, n_heads=4).model
        model.config.use_cache = False  # of keys and values, which training never reads again
        return model
    import transformers

    sizes = {"n_positions": STORIES["context"], "n_embd": STORIES["d_model"], "n_layer": STORIES["n_blocks"]}
    config = transformers.OpenAIGPTConfig(vocab_size=STORIES["vocabulary"], n_head=4, **sizes)
    return transformers.OpenAIGPTLMHeadModel(config)


class Masked(nn.Module):
    """A model of transformers, with a mask of the padding where that is on the left."""

    def __init__(self, model: nn.Module, padding: str) -> None:
        super().__init__()
        self.model, self.padding = model, padding

    def forward(self, tokens: Tensor) -> Tensor:
        mask = (tokens != PAD).long() if self.padding == "left" else None
        return self.model(tokens, attention_mask=mask).logits


def stories(padding: str) -> Batch:
    """Eight rows of one text each, padded on one side."""
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, STORIES["vocabulary"], (8, STORIES["context"] + 1), generator=draw)
    quantiles = torch.special.ndtri((torch.arange(8) + 0.5) / 8)
    lengths = (MEAN + DEVIATION * quantiles).exp().round().clamp(max=STORIES["context"])
    places = torch.arange(STORIES["context"] + 1)
    text = places >= len(places) - lengths[:, None] if padding == "left" else places < lengths[:, None]
    tokens = torch.where(text, tokens, PAD)
    return Batch(tokens[:, :-1], torch.where(text[:, 1:] & text[:, :-1], tokens[:, 1:], IGNORED))


def full(vocabulary: int, context: int, rows: int) -> Batch:
    """Rows without padding."""
    tokens = torch.randint(vocabulary, (rows, context + 1), generator=torch.Generator().manual_seed(0))
    return Batch(tokens[:, :-1], tokens[:, 1:])


def published(model: nn.Module, batch: Batch) -> Step:
    """A step with the logits of all positions and PyTorch's optimiser as it comes."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)

    def step() -> None:
        cross_entropy(model(batch.tokens), batch.targets, torch.float32).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def ours(model: SequenceModel, batch: Batch, half: bool = False) -> Step:
    """A step of the training loop on a task that predicts text."""
    loss, optimiser = Loss(model, NextToken, torch.float32), adamw(model.parameters(), OPTIMISER)  # type: ignore[arg-type]

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            value, _ = loss(batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def built(name: str, **sizes: Any) -> SequenceModel:
    """An architecture of this project."""
    torch.manual_seed(0)
    return models.build(name, **sizes)


def against(name: str, make: Callable[[Any], nn.Module], batch: Batch, **sizes: Any) -> dict[str, Step]:
    """A step of an architecture with published mixers, and ours."""
    own = {half: ours(built(name, **sizes), batch, half) for half in (False, True)}
    return {"published": published(with_mixer(name, make, **sizes), batch), "ours": own[False], "bfloat16": own[True]}


def against_library(kind: str, name: str, padding: str, **options: Any) -> dict[str, Step]:
    """A step of a model of transformers, and ours."""
    batch, sizes = stories(padding), {**STORIES, "n_heads": 4, **options}
    own = {half: ours(built(name, **sizes), batch, half) for half in (False, True)}
    return {"published": published(Masked(of_library(kind), padding), batch), "ours": own[False], "bfloat16": own[True]}


def sums(updates: int) -> dict[str, Step]:
    """A step of modular addition after so many updates."""
    steps = {name: addition.trainer(59, 512, name == "ours", torch.float32) for name in ("published", "ours")}
    with flush_to_zero():
        for step in steps.values():
            for _ in range(updates):
                step()
    return steps


def cases() -> dict[str, Callable[[], dict[str, Step]]]:
    """name -> the steps to compare."""
    strings, long = full(29, 34, 32), full(29, 258, 4)
    novels = {"vocabulary": 1092, "context": 256, "d_model": 192, "n_blocks": 4}
    plain = {
        "transformer": lambda mixer: PlainAttention(mixer.d_model, mixer.context),
        "linear-transformer": lambda mixer: PlainLinearAttention(mixer.d_model, mixer.context),
        "causal-rn": lambda mixer: PlainRelation(mixer.d_model, mixer.context),
        "linear-causal-rn": lambda mixer: PlainLinearRelation(mixer.d_model, mixer.context, pre_norm="approximate"),
    }
    return {
        "001 masked mixer, padded on the right": lambda: against(
            "masked-mixer", lambda mixer: ConvMixing(mixer.d_model, mixer.context), stories("right"), **STORIES
        ),
        "001 Llama, padded on the right": lambda: against_library("llama", "llama", "right"),
        "001 Llama, padded on the left": lambda: against_library("llama", "llama", "left", pad=PAD),
        "001 GPT-1, padded on the right": lambda: against_library("gpt", "openai-gpt", "right"),
        **{
            f"002 {name}, {batch.tokens.shape[1]} tokens": lambda name=name, make=make, batch=batch: against(
                name, make, batch, **STRINGS, context=batch.tokens.shape[1]
            )
            for name, make in plain.items()
            for batch in (strings, long)
        },
        "003 modular addition": lambda: sums(updates=0),
        "003 modular addition, learned": lambda: sums(updates=LEARNED),
        "004 triangular": lambda: against("triangular", PlainTriangles, full(1092, 256, 8), **novels),
    }


def compared(steps: dict[str, Step]) -> dict[str, float]:
    """Median milliseconds of each, and how many times faster than the published step the others are."""

    def milliseconds(name: str) -> float:
        with nullcontext() if name == "published" else flush_to_zero():
            return tools.milliseconds(steps[name])

    for name in steps:
        milliseconds(name)
    rounds = [{name: milliseconds(name) for name in steps} for _ in range(PAIRS)]
    found = {f"{name}_ms": round(statistics.median(one[name] for one in rounds), 2) for name in steps}
    ratios = {f"{name}_1": statistics.median(one["published"] / one[name] for one in rounds) for name in steps}
    return found | {name: round(ratio, 2) for name, ratio in ratios.items() if name != "published_1"}


def main() -> int:
    """Print a line per case; keep all with --write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_blocks()
    print(f"{'':40} {'published':>12} {'ours':>12} {'times':>6} {'in bfloat16':>12}")
    found = {}
    for name, make in cases().items():
        found[name] = one = compared(make())
        half = f"{one['bfloat16_1']:12.2f}" if "bfloat16_1" in one else ""
        print(
            f"{name:40} {one['published_ms']:9.1f} ms {one['ours_ms']:9.1f} ms {one['ours_1']:6.2f} {half}", flush=True
        )
    if asked.write:
        kept = {"hardware": provenance("cpu")["hardware"], "pairs": PAIRS, "steps": found}
        paths.write_atomically(FILE, json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
