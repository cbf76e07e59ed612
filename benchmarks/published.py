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
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from allmlp import models
from allmlp.common import paths
from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.modular import ModularAddition
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.spec.settings import Optimiser
from allmlp.training.environment import provenance
from allmlp.training.memory import keep_freed_blocks
from mixer import ConvMixing
from tools import peers
from tools.peers import PAD
from tools.whole_steps import OURS, PEERS, OneBatch, Row, compared

FILE = Path(__file__).with_suffix(".json")
LEARNED = 400  # updates of modular addition: all its answers are right
MEAN, DEVIATION, FILLED = 5.3, 0.36, 0.83
STORIES = {"vocabulary": 4096, "context": 512, "d_model": 256, "n_blocks": 4}
LONG = {"vocabulary": 1024, "context": 128, "d_model": 64, "n_blocks": 2}
STRINGS = {"vocabulary": 29, "d_model": 192, "n_blocks": 6}
NOVELS = {"vocabulary": 1092, "context": 256, "d_model": 192, "n_blocks": 4}
WINDOWS = {"vocabulary": 4096, "context": 15, "d_model": 128, "d_mlp": 1024}
Named = tuple[str, Callable[[], Row]]


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


def of_000() -> Iterator[Named]:
    """Windows of tokens."""

    def row() -> Row:
        batch = rows(WINDOWS["vocabulary"], WINDOWS["context"], 256)
        return Row("mlp", lambda: models.build("mlp", **WINDOWS), Batch(batch.tokens, batch.targets[:, -1]), WINDOWS)

    yield "000 last-token MLP", row


def of_001() -> Iterator[Named]:
    """Texts of three kinds."""

    def mixer(kind: str) -> Row:
        sizes, batch = stories(kind)
        published = peers.with_mixers("masked-mixer", lambda of: ConvMixing(of.d_model, of.context), sizes)
        compilable = peers.with_mixers("masked-mixer", lambda of: peers.MaskedConv(of.context), sizes)
        return Row("masked-mixer", published, batch, sizes, compilable=compilable)

    def of_library(ours: str, kind: str, work: str, padding: str = "right", **options: Any) -> Row:
        sizes, batch = stories(work, padding)
        return Row(ours, partial(peers.OfLibrary, kind, padding, sizes), batch, {**sizes, "n_heads": 4, **options})

    for kind in ("packed", "stories", "padded"):
        yield f"001 masked mixer, {kind}", partial(mixer, kind)
        yield f"001 Llama, {kind}", partial(of_library, "llama", "llama", kind)
        yield f"001 GPT-1, {kind}", partial(of_library, "openai-gpt", "gpt", kind)
    yield "001 Llama, padded on the left", partial(of_library, "llama", "llama", "padded", "left", pad=PAD)


def of_002() -> Iterator[Named]:
    """Strings to copy."""

    def row(name: str, make: Callable[[Any], nn.Module], letters: int, count: int) -> Row:
        batch = Copying(letters, count).batch(0, 0)
        sizes = {**STRINGS, "context": batch.tokens.shape[1]}
        task = OneBatch(batch, reads_logits=True)
        return Row(name, peers.with_mixers(name, make, sizes), batch, sizes, task=task)

    for name, make in peers.OF_002.items():
        for letters, count in ((16, 32), (128, 4)):
            yield f"002 {name}, {letters} letters", partial(row, name, make, letters, count)


def of_003() -> Iterator[Named]:
    """All pairs of numbers."""

    def row(updates: int) -> Row:
        sizes, batch = {"vocabulary": 59, "d_mlp": 512}, ModularAddition(59, 0.8).batch(0, 0)
        optimiser = Optimiser(learning_rate=1e-3, betas=[0.9, 0.98], weight_decay=2.0)
        return Row(
            "constant-attention", lambda: peers.PlainAddition(models.build("constant-attention", **sizes)), batch,
            sizes, task=OneBatch(batch, reads_logits=True), optimiser=optimiser, dtype="float64", updates=updates,
        )  # fmt: skip

    yield "003 modular addition", partial(row, 0)
    yield "003 modular addition, learned", partial(row, LEARNED)


def of_004() -> Iterator[Named]:
    """Windows of novels."""

    def row(form: str) -> Row:
        sizes = {**NOVELS, "form": form}
        return Row("triangular", peers.with_mixers("triangular", peers.PlainTriangles, sizes), rows(1092, 256), sizes)

    for form in ("transpose", "reshape"):
        yield f"004 triangular, {form}", partial(row, form)


TABLE = dict(row for of in (of_000, of_001, of_002, of_003, of_004) for row in of())


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
    for name, make in TABLE.items():
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
            kept["steps"] = {name: both[name] for name in TABLE if name in both}
        paths.write_atomically(FILE, json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
