"""Training steps of language models side by side, on a GPU or a CPU: tokens per second, share of peak, memory.

    python benchmarks/gpu.py                    print
    python benchmarks/gpu.py --write            and keep, in benchmarks/gpu.json, one entry per device
    python benchmarks/gpu.py --compile          compiled steps too
    python benchmarks/gpu.py --keep FILE        in a file, row by row; called again, it goes on where it was

Beside the architectures of this project stand what a user would pick instead: Hugging Face's Llama, and a block in the
manner of nanoGPT (`torch.nn.functional.scaled_dot_product_attention`, GELU). All have one width, depth, context,
vocabulary and batch. On a GPU a step is forward and backward under bfloat16 autocast, clipping and fused AdamW. On a
CPU it is in single precision and small, which only shows that this file works.

The share of peak is the model's counted operations per second over the rate of a large product of two matrices
in the same process, and over the device's nominal rate.
"""

import argparse
import gc
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import tools
from allmlp import models
from allmlp.common import paths
from allmlp.models import relation
from allmlp.pipeline.gpu_hour.noting import noting_errors
from allmlp.plan.device_types import TYPES
from allmlp.training.environment import provenance

FILE = Path(__file__).with_suffix(".json")
SIZES = {
    "cuda": {"vocabulary": 4096, "context": 512, "d_model": 512, "n_blocks": 8, "n_heads": 8, "batch": 32},
    "cpu": {"vocabulary": 256, "context": 64, "d_model": 64, "n_blocks": 2, "n_heads": 4, "batch": 2},
}
OWN = (
    "masked-mixer", "llama", "openai-gpt", "gpt2", "dct-mlp", "transformer", "linear-transformer", "causal-rn",
    "linear-causal-rn", "triangular", "hybrid",
)  # fmt: skip
WARM_UP, STEPS, PRODUCT = 3, 15, 8192


class Block(nn.Module):
    """LN, attention, LN, MLP of four times the width, each added to its input."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.before, self.between = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        heads = self.qkv(self.before(x)).view(rows, length, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(read.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.between(x))))


class NanoGPT(nn.Module):
    """Token and position embeddings, blocks, LN, an unembedding of its own."""

    def __init__(self, vocabulary: int, context: int, d_model: int, n_blocks: int, n_heads: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, d_model), nn.Embedding(context, d_model)
        self.blocks = nn.Sequential(*(Block(d_model, n_heads) for _ in range(n_blocks)))
        self.is_later, self.unembedding = nn.LayerNorm(d_model), nn.Linear(d_model, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.unembedding(self.is_later(self.blocks(x)))


class HuggingFace(nn.Module):
    """transformers' Llama with the width, depth and feed-forward width of this project's."""

    def __init__(self, vocabulary: int, context: int, d_model: int, n_blocks: int, n_heads: int) -> None:
        super().__init__()
        import transformers

        self.model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=vocabulary, max_position_embeddings=context, hidden_size=d_model,
                intermediate_size=4 * d_model, num_hidden_layers=n_blocks, num_attention_heads=n_heads,
                tie_word_embeddings=False,
            )
        )  # fmt: skip

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.model(tokens, use_cache=False).logits


def builders(size: dict[str, int]) -> dict[str, Callable[[], nn.Module]]:
    """name -> a function that builds the model."""
    plain = {key: value for key, value in size.items() if key != "batch"}
    found: dict[str, Callable[[], nn.Module]] = {
        "nanoGPT's block": lambda: NanoGPT(**plain),
        "Hugging Face's Llama": lambda: HuggingFace(**plain),
    }
    for name in OWN:
        takes = models.hyperparameters(name)
        own = {key: value for key, value in plain.items() if key in takes}
        if name == "masked-mixer":  # as study 001 trains it most; its heads make it another model
            found["masked-mixer, 8 heads"] = lambda own=own: models.build("masked-mixer", **own)  # type: ignore[misc]
            del own["n_heads"]
        found[name] = lambda name=name, own=own: models.build(name, **own)  # type: ignore[misc]
    return found


def step_of(model: nn.Module, tokens: torch.Tensor, device: str) -> Callable[[], None]:
    """One update on a fixed batch."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(tokens)
        F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def seconds(step: Callable[[], object]) -> float:
    """The median of STEPS steps."""
    return statistics.median([tools.milliseconds(step) for _ in range(WARM_UP + STEPS)][WARM_UP:]) / 1000


def product_rate(device: str) -> float:
    """Operations per second of a large product of two random matrices."""
    n = PRODUCT if device == "cuda" else 512
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    return 2 * n**3 / seconds(lambda: torch.mm(a, b))


def measured(build: Callable[[], nn.Module], size: dict[str, int], device: str, compiled: bool) -> dict[str, float]:
    """Seconds, tokens per second, counted operations and peak of memory of one model's step."""
    gc.collect()
    torch.manual_seed(0)
    model = build().to(device)
    tokens = torch.randint(size["vocabulary"], (size["batch"], size["context"]), device=device)
    with FlopCounterMode(display=False) as counter:
        model(tokens)
    step = step_of(torch.compile(model) if compiled else model, tokens, device)  # type: ignore[arg-type]
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    taken = seconds(step)
    found = {
        "step_s": float(f"{taken:.4g}"),
        "tokens_per_s": float(f"{tokens.numel() / taken:.4g}"),
        "flops_per_step": 3 * counter.get_total_flops(),
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }
    if device == "cuda":
        found["peak_bytes"] = torch.cuda.max_memory_allocated()
    torch.compiler.reset()
    return found


def nominal(hardware: str) -> float | None:
    """The bfloat16 rate on the device's data sheet."""
    types = json.loads(TYPES.read_text(encoding="utf-8"))["types"]
    return next((float(about["bf16_flops"]) for name, about in types.items() if name in hardware), None)


def read_table(file: Path) -> dict[str, Any]:
    """device -> its entry; that of benchmarks/gpu.json where the file is not there yet."""
    found = file if file.is_file() else FILE
    return json.loads(found.read_text(encoding="utf-8")) if found.is_file() else {}


def begin_entry(device: str, file: Path | None) -> dict[str, Any]:
    """What the file holds of this device and these sizes, begun if it holds nothing."""
    about = {**provenance(device), "size": SIZES[device], "triton": relation.HAS_KERNELS}
    known = json.loads(file.read_text(encoding="utf-8")).get(device, {}) if file and file.is_file() else {}
    if "complete" in known and all(known.get(key) == value for key, value in about.items()):
        return known
    return {
        **about,
        "product_flops": float(f"{product_rate(device):.4g}"),
        "models": {},
        "not_measured": {},
        "complete": [],
    }


def row_of(build: Callable[[], nn.Module], entry: dict[str, Any], device: str, compiled: bool) -> dict[str, float]:
    """One model's row, with its shares of the rates."""
    row = measured(build, SIZES[device], device, compiled)
    speed, peak = row["flops_per_step"] / row["step_s"], nominal(entry["hardware"])
    shares = {"share_of_product": round(speed / entry["product_flops"], 4)}
    return row | shares | ({"share_of_nominal": round(speed / peak, 4)} if peak else {})


def show(name: str, row: dict[str, float]) -> None:
    """A line."""
    print(
        f"{name:34}{1e3 * row['step_s']:10.2f}{row['tokens_per_s']:12,.0f}{row['share_of_product']:12.1%}"
        f"{row.get('share_of_nominal', 0):12.1%}{row.get('peak_bytes', 0) / 1e9:8.2f}",
        flush=True,
    )


def main() -> None:
    """Measure every model; with `--write` or `--keep` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--compile", action="store_true", help="compiled steps too: half a minute a model")
    parser.add_argument("--plain-kernels", action="store_true", help="the causal relation without Triton's kernels")
    parser.add_argument("--device", default=tools.device(), choices=["cpu", "cuda"])
    asked = parser.parse_args()
    if asked.plain_kernels:
        relation.HAS_KERNELS = False
    device, file = asked.device, asked.keep
    entry = begin_entry(device, file)
    print(f"{entry['hardware']}: {entry['product_flops'] / 1e12:.3g} TFLOP/s in a product of matrices; {entry['size']}")
    print(f"{'':34}{'ms a step':>10}{'tokens/s':>12}{'of product':>12}{'of nominal':>12}{'GB':>8}")

    def keep() -> None:
        if file:
            paths.write_atomically(file, json.dumps({**read_table(file), device: entry}, indent=1) + "\n")

    for compiled in (False, True) if asked.compile else (False,):
        for name, build in builders(SIZES[device]).items():
            label = f"{name}, compiled" if compiled else name
            if label in entry["models"] or label in entry["not_measured"]:
                continue
            with noting_errors(entry["not_measured"], label, keep, device):
                entry["models"][label] = row_of(build, entry, device, compiled)
                show(label, entry["models"][label])
        entry["complete"] = sorted({*entry["complete"], "compiled" if compiled else "plain"})
        keep()
    if asked.write:
        paths.write_atomically(FILE, json.dumps({**read_table(FILE), device: entry}, indent=1) + "\n")


if __name__ == "__main__":
    main()
