"""Whole training steps of this project beside the same steps by the published code, as it is and tuned, in one run.

    python benchmarks/published.py                   print; about 40 minutes on 1 core of a CPU, half of it the compiler
    python benchmarks/published.py --only Llama      the rows with this in their names
    python benchmarks/published.py --write           and keep those, in benchmarks/published.json

A step is forward, loss, backward, clipping and AdamW in float32, on the same batch. Ours is `Training.update`, with
deterministic operations and the values of the log; drawing the batch is not in it. `ours compiled` is that of a run
with `compile: true`. The peer computes the logits of all positions, padding among them: `published` with PyTorch's
AdamW as it comes, `fused` with the fused one, and subnormal numbers taken as zero as ours are, `compiled` by
torch.compile too. Its Llama and GPT-1 are Hugging Face's, which 001 calls. In the other models of 001, 002 and 004 the
token mixers are written here in plain PyTorch, as the papers and their code describe them; 000's MLP is the same model
on both sides, and 003's network is multiplied matrix by matrix. Steps take turns, and a ratio is the median of the
rounds' ratios.

Rows of 001 are of three kinds: `packed`, without padding; `stories`, the batches of scale long, whose texts fill 83 %
of 128 tokens; and `padded` like TinyStories in the paper: in 2,317 of these, with 4,096 byte-pair types of their own,
the logarithm of the length has mean 5.3 and deviation 0.36. The eight rows are at eight quantiles of that, 512 tokens
at most, so 59 % of the positions are padding. 002 copies: half of the positions have a target.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import addition
import tools
from allmlp import models
from allmlp.common import paths
from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.modular import ModularAddition
from allmlp.data.tasks.task import IGNORED, Batch, Task
from allmlp.models.base import SequenceModel
from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser
from allmlp.training.environment import provenance
from allmlp.training.loop import Training
from allmlp.training.loss import cross_entropy
from allmlp.training.memory import keep_freed_blocks
from allmlp.training.subnormals import flush_to_zero
from gpu import HuggingFace
from mixer import ConvMixing
from relation import PlainRelation

FILE = Path(__file__).with_suffix(".json")
ROUNDS, SECONDS = 11, 60  # of a row: as many rounds as fit into so many seconds, at least 5
LEARNED = 400  # updates of modular addition: all its answers are right
PAD, MEAN, DEVIATION, FILLED = 0, 5.3, 0.36, 0.83
OPTIMISER = Optimiser(learning_rate=1e-4, clip=1.0)
STORIES = {"vocabulary": 4096, "context": 512, "d_model": 256, "n_blocks": 4}
LONG = {"vocabulary": 1024, "context": 128, "d_model": 64, "n_blocks": 2}
STRINGS = {"vocabulary": 29, "d_model": 192, "n_blocks": 6}
NOVELS = {"vocabulary": 1092, "context": 256, "d_model": 192, "n_blocks": 4}
WINDOWS = {"vocabulary": 4096, "context": 15, "d_model": 128, "d_mlp": 1024}
PEERS = ("published", "fused", "compiled")
OURS: dict[str, dict[str, Any]] = {"ours": {}, "ours compiled": {"compile": True}}
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "_scaled_dot", "_slow_conv", "mkldnn_conv", "convolution_backward")
FOLDER = tempfile.TemporaryDirectory()
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


class OneBatch(Task):
    """A task with the same batch at each step. One whose scores read logits has them all, as its trainings do."""

    def __init__(self, batch: Batch, reads_logits: bool = False) -> None:
        self._batch, self.reads_logits = batch, reads_logits  # type: ignore[misc]

    def batch(self, seed: int, step: int) -> Batch:
        """The batch, whatever the step."""
        return self._batch


def rows(vocabulary: int, context: int, count: int = 8) -> Batch:
    """Rows without padding."""
    tokens = torch.randint(1, vocabulary, (count, context + 1), generator=torch.Generator().manual_seed(0))
    return Batch(tokens[:, :-1], tokens[:, 1:])


def cut(batch: Batch, lengths: Tensor, padding: str) -> Batch:
    """The rows with texts of these lengths alone, padded on one side."""
    context = batch.tokens.shape[1]
    places, lengths = torch.arange(context), lengths[:, None]
    text = places >= context - lengths if padding == "left" else places < lengths
    answered = text if padding == "left" else places < lengths - 1
    tokens, targets = torch.where(text, batch.tokens, PAD), torch.where(answered, batch.targets, IGNORED)
    return Batch(tokens, targets)


def stories(kind: str, padding: str = "right") -> tuple[dict[str, Any], Batch]:
    """Sizes and a batch of 001: `packed` and `padded` rows of 512 tokens, or `stories` as scale long trains."""
    if kind == "stories":
        batch = rows(LONG["vocabulary"], LONG["context"])
        lengths = torch.full((8,), LONG["context"])
        lengths[:2] = round(LONG["context"] * (1 - 4 * (1 - FILLED)))  # ends of texts; the other rows are full
        return LONG, cut(batch, lengths, padding)
    batch = rows(STORIES["vocabulary"], STORIES["context"])
    if kind == "packed":
        return STORIES, batch
    quantiles = torch.special.ndtri((torch.arange(8) + 0.5) / 8)
    return STORIES, cut(batch, (MEAN + DEVIATION * quantiles).exp().round().clamp(max=512), padding)


def by_hand(model: nn.Module, batch: Batch, fused: bool, compiled: bool, optimiser: Optimiser, dtype: Any) -> Step:
    """A step as a user would write it around the published model."""
    forward = torch.compile(model) if compiled else model
    settings = {"lr": optimiser.learning_rate, "betas": tuple(optimiser.betas), "weight_decay": optimiser.weight_decay}
    adamw = torch.optim.AdamW(model.parameters(), **settings, fused=True if fused else None)

    def step() -> None:
        cross_entropy(forward(batch.tokens), batch.targets, dtype).backward()
        if optimiser.clip:
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
        adamw.step()
        adamw.zero_grad()

    return step


def in_the_loop(name: str, task: Task, sizes: dict[str, Any], optimiser: Optimiser, **settings: Any) -> Step:
    """A step of the training loop."""
    run = Run(
        study="benchmark", name=name, labels={}, architecture=name, hyperparameters=sizes, task="", task_parameters={},
        optimiser=optimiser.model_dump(), steps=1_000_000, seed=0, measures=(), **settings,
    )  # fmt: skip
    return Training(run, Path(tempfile.mkdtemp(dir=FOLDER.name)), task=task).update


class Row:
    """A row of the table: a model of ours, the peer, and what both compute."""

    def __init__(
        self,
        name: str,
        peer: Callable[[], nn.Module],
        batch: Batch,
        sizes: dict[str, Any],
        *,
        task: Task | None = None,
        optimiser: Optimiser = OPTIMISER,
        dtype: str = "float32",
        updates: int = 0,
        compilable: Callable[[], nn.Module] | None = None,
    ) -> None:
        self.name, self.peer, self.batch, self.sizes = name, peer, batch, sizes
        self.task, self.optimiser, self.dtype = task or OneBatch(batch), optimiser, dtype
        self.updates, self.compilable = updates, compilable or peer

    def steps(self) -> dict[str, Step]:
        """name -> the step, after `updates` of it."""
        found: dict[str, Step] = {}
        for name in PEERS:
            torch.manual_seed(0)
            model = self.compilable() if name == "compiled" else self.peer()
            made = model, self.batch, name != "published", name == "compiled", self.optimiser
            found[name] = by_hand(*made, getattr(torch, self.dtype))
        for name, settings in OURS.items():
            made = self.name, self.task, self.sizes, self.optimiser
            found[name] = in_the_loop(*made, loss_dtype=self.dtype, **settings)
        for name, step in found.items():
            with surroundings(name):
                for _ in range(self.updates + 2):  # compiled graphs are made in the first two
                    step()
        return found

    def work(self) -> dict[str, Any]:
        """What a step computes: vocabulary, rows, tokens of a row, share of the positions that have a target."""
        share = (self.batch.targets != IGNORED).double().mean().item()
        count, length = self.batch.tokens.shape
        return {"vocabulary": self.sizes["vocabulary"], "rows": count, "tokens": length, "supervised": round(share, 2)}


@contextmanager
def surroundings(name: str) -> Iterator[None]:
    """Ours: as in the training loop. The peer: as PyTorch comes; tuned, without subnormal numbers."""
    torch.set_deterministic_debug_mode("error" if name in OURS else "default")
    with nullcontext() if name == "published" else flush_to_zero():
        yield


def compared(steps: dict[str, Step]) -> dict[str, Any]:
    """Median milliseconds of each, and the ratios of the peers' to the better of our two forms in float32."""

    def milliseconds(name: str) -> float:
        with surroundings(name):
            return tools.milliseconds(steps[name])

    first = {name: milliseconds(name) for name in steps}
    count = max(5, min(ROUNDS, math.floor(1000 * SECONDS / sum(first.values()))))
    rounds = [{name: milliseconds(name) for name in steps} for _ in range(count)]
    ms = {name: round(statistics.median(one[name] for one in rounds), 2) for name in steps}
    better = min(("ours", "ours compiled"), key=ms.__getitem__)
    ratios = {name: round(statistics.median(one[name] / one[better] for one in rounds), 2) for name in PEERS}
    shares = {name: products_share(name, steps[name]) for name in ("compiled", better)}
    return {"rounds": count, "ms": ms, "better": better, "ratios": ratios, "products": shares}


def products_share(name: str, step: Step) -> float:
    """The share of a step's time that matrix products take, with fused attention: where it is high and both sides take
    the same products, neither can be much faster than the other."""
    with surroundings(name), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        started = time.perf_counter()
        step()
        whole = 1e6 * (time.perf_counter() - started)
    products = tuple(f"aten::{of}" for of in PRODUCTS)
    return round(sum(e.self_cpu_time_total for e in profile.key_averages() if e.key.startswith(products)) / whole, 2)


def with_mixers(name: str, make: Callable[[Any], nn.Module], sizes: dict[str, Any]) -> Callable[[], SequenceModel]:
    """How to build an architecture with the published token mixers."""

    def peer() -> SequenceModel:
        model = models.build(name, **sizes)
        for block in model.blocks:
            block.mixer = make(block.mixer)
        return model

    return peer


def table() -> dict[str, Callable[[], Row]]:
    """name -> the row."""
    found: dict[str, Callable[[], Row]] = {}

    def mixer(kind: str) -> Row:
        sizes, batch = stories(kind)
        as_published, compilable = (
            with_mixers("masked-mixer", make, sizes)
            for make in (
                lambda mixing: ConvMixing(mixing.d_model, mixing.context),
                lambda mixing: MaskedConv(mixing.context),
            )
        )
        return Row("masked-mixer", as_published, batch, sizes, compilable=compilable)

    def of_library(ours: str, kind: str, work: str, padding: str = "right", **options: Any) -> Row:
        sizes, batch = stories(work, padding)
        return Row(ours, lambda: OfLibrary(kind, padding, sizes), batch, {**sizes, "n_heads": 4, **options})

    for kind in ("packed", "stories", "padded"):
        found[f"001 masked mixer, {kind}"] = lambda kind=kind: mixer(kind)
        found[f"001 Llama, {kind}"] = lambda kind=kind: of_library("llama", "llama", kind)
        found[f"001 GPT-1, {kind}"] = lambda kind=kind: of_library("openai-gpt", "gpt", kind)
    found["001 Llama, padded on the left"] = lambda: of_library("llama", "llama", "padded", "left", pad=PAD)

    plain: dict[str, Callable[[Any], nn.Module]] = {
        "transformer": lambda mixer: PlainAttention(mixer.d_model, mixer.context),
        "linear-transformer": lambda mixer: PlainLinearAttention(mixer.d_model, mixer.context),
        "causal-rn": lambda mixer: PlainRelation(mixer.d_model, mixer.context),
        "linear-causal-rn": lambda mixer: PlainLinearRelation(mixer.d_model, mixer.context, pre_norm="approximate"),
    }

    def strings(name: str, make: Callable[[Any], nn.Module], letters: int, count: int) -> Row:
        batch = Copying(letters, count).batch(0, 0)
        sizes = {**STRINGS, "context": batch.tokens.shape[1]}
        task = OneBatch(batch, reads_logits=True)
        return Row(name, with_mixers(name, make, sizes), batch, sizes, task=task)

    for name, make in plain.items():
        for letters, count in ((16, 32), (128, 4)):
            found[f"002 {name}, {letters} letters"] = partial(strings, name, make, letters, count)

    def sums(updates: int) -> Row:
        sizes, batch = {"vocabulary": 59, "d_mlp": 512}, ModularAddition(59, 0.8).batch(0, 0)
        optimiser = Optimiser(learning_rate=1e-3, betas=[0.9, 0.98], weight_decay=2.0)
        return Row(
            "constant-attention", lambda: PlainAddition(models.build("constant-attention", **sizes)), batch,
            sizes, task=OneBatch(batch, reads_logits=True), optimiser=optimiser, dtype="float64", updates=updates,
        )  # fmt: skip

    found["003 modular addition"] = lambda: sums(0)
    found["003 modular addition, learned"] = lambda: sums(LEARNED)
    for form in ("transpose", "reshape"):
        sizes = {**NOVELS, "form": form}
        found[f"004 triangular, {form}"] = lambda sizes=sizes: Row(
            "triangular", with_mixers("triangular", PlainTriangles, sizes), rows(1092, 256), sizes
        )

    def windows() -> Row:
        batch = rows(WINDOWS["vocabulary"], WINDOWS["context"], 256)
        return Row("mlp", lambda: models.build("mlp", **WINDOWS), Batch(batch.tokens, batch.targets[:, -1]), WINDOWS)

    return {"000 last-token MLP": windows, **found}


def main() -> int:
    """Print a line per row; keep all with --write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_blocks()
    print(f"{'':36}" + "".join(f"{name:>14}" for name in (*PEERS, *OURS)) + "   peers over ours")
    found = {}
    for name, make in table().items():
        if asked.only not in name:
            continue
        row = make()
        found[name] = one = row.work() | compared(row.steps())
        torch.compiler.reset()
        times = "".join(f"{one['ms'].get(key, math.nan):11.1f} ms" for key in (*PEERS, *OURS))
        print(f"{name:36}{times}   {' '.join(str(one['ratios'][key]) for key in PEERS)}", flush=True)
    if asked.write:
        kept = {"hardware": provenance("cpu")["hardware"], "torch": torch.__version__, "steps": found}
        before = json.loads(FILE.read_text(encoding="utf-8"))
        if asked.only and {**before, "steps": None} == {**kept, "steps": None}:
            both = before["steps"] | found
            kept["steps"] = {name: both[name] for name in table() if name in both}
        paths.write_atomically(FILE, json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
