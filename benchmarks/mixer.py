"""A flat masked mixer's training step beside its plain Conv1d form and Llama; its mixing layer against length.

    python benchmarks/mixer.py        about 8 minutes on 1 core of a CPU, Linux; on a GPU where there is one

The step is the paper's: width 512, 8 blocks, 512 tokens, batch 16, 4,096 tokens in the vocabulary; forward, loss,
backward and AdamW in float32. `conv1d` is the same model as published: its mask rebuilt in each pass, multiplied into
the weight of a Conv1d over tokens. Llama has 4 heads and fused attention. Prints milliseconds, the bytes kept for
backward, counted at autograd, and the peak above what was there. Then the mixing layers alone, forward and backward.
Freed memory stays with the process, as in training. Mixing is a tenth of a step's operations, and all that two of the
models differ in: what it gains, at most a tenth of a step, is below what a step's time varies by; the layers tell.
Draws the layers' growth to work/bench/mixer.svg and .png, and on a CPU exits with 1 where ours, at the step's length,
is slower than `conv1d`.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn

import tools
from allmlp import models
from allmlp.models.llama import RopeAttention
from allmlp.models.masked_mixing import Mixing
from allmlp.report import style
from allmlp.studies.mixers.measures.costs import count_bytes
from allmlp.training.loss import linear_cross_entropy
from allmlp.training.memory import keep_freed_blocks

SIZES = {"vocabulary": 4096, "context": 512, "d_model": 512, "n_blocks": 8}
BATCH, ROUNDS = 16, 5
LENGTHS, SECONDS = (128, 256, 512, 1024, 2048), 6.0
ASKED, AIMED = 1.0, 1.5  # times faster than the plain form


class ConvMixing(nn.Module):
    """The flat mixer's layer as published."""

    def __init__(self, d_model: int, context: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(context, context, 1)

    def forward(self, x_BTD: Tensor) -> Tensor:
        weight = self.conv.weight
        mask = torch.ones(weight.shape[:2], device=weight.device).tril()
        weight.data *= mask[..., None]
        return self.conv(x_BTD)


MODELS = {"conv1d": "masked-mixer", "ours": "masked-mixer", "llama": "llama"}
LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "conv1d": ConvMixing,
    "ours": Mixing,
    "llama": lambda d_model, context: RopeAttention(d_model, context, n_heads=4),
}
COLOURS = {"conv1d": style.PAPER, "ours": style.colour("masked-mixer"), "llama": style.colour("llama")}


def model(name: str) -> nn.Module:
    """A model of the step's size."""
    torch.manual_seed(0)
    built = models.build(MODELS[name], **SIZES)
    if name == "conv1d":
        for block in built.blocks:
            block.mixer = ConvMixing(SIZES["d_model"], SIZES["context"])
    return built.to(tools.device())


def tokens() -> Tensor:
    """A batch of inputs and, one further, their targets."""
    generator = torch.Generator().manual_seed(0)
    shape = (BATCH, SIZES["context"] + 1)
    return torch.randint(SIZES["vocabulary"], shape, generator=generator).to(tools.device())


def training_step(name: str) -> Callable[[], None]:
    """One update."""
    trained, tokens_BT = model(name), tokens()
    optimiser = torch.optim.AdamW(trained.parameters(), lr=1e-4, fused=True)

    def run() -> None:
        hidden_ND = trained.hidden(tokens_BT[:, :-1]).flatten(0, 1)
        linear_cross_entropy(hidden_ND, trained.linear_head(), tokens_BT[:, 1:].flatten(), torch.float32).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return run


def layer_pass(name: str, length: int, batch: int = BATCH, d_model: int = SIZES["d_model"]) -> Callable[[], None]:
    """Forward and backward through one layer."""
    torch.manual_seed(0)
    layer = LAYERS[name](d_model, length).to(tools.device())
    x_BTD = torch.randn(batch, length, d_model, device=tools.device(), requires_grad=True)
    g_BTD = torch.randn_like(x_BTD)

    def run() -> None:
        layer.zero_grad(set_to_none=True)
        x_BTD.grad = None
        layer(x_BTD).backward(g_BTD)

    return run


def layers() -> dict[int, dict[str, float]]:
    """Milliseconds by length; prints a line each, and draws."""
    ratio = f"   conv1d / ours, asked {ASKED:g} at {SIZES['context']}, aimed at {AIMED:g}"
    print(f"\n{'n':>5}" + "".join(f" {name:>13}" for name in LAYERS) + ratio)

    def line(n: int, *of: int) -> dict[str, float]:
        found = tools.medians({name: layer_pass(name, n, *of) for name in LAYERS}, SECONDS)
        cells = "".join(f" {found[name]:10.2f} ms" for name in LAYERS)
        print(f"{n:5}{cells} {found['conv1d'] / found['ours']:8.2f}", flush=True)
        return found

    times = {n: line(n) for n in LENGTHS}
    print("at the size of the study's own trainings, 8 sequences of width 64:")
    line(128, 8, 64)
    panels = {"forward and backward (ms)": {name: (LENGTHS, [times[n][name] for n in LENGTHS]) for name in LAYERS}}
    title = f"one layer, {BATCH} sequences, width {SIZES['d_model']}"
    tools.draw("mixer", title, "length n (tokens)", panels, COLOURS)
    return times


def main() -> int:
    """Print a line per model, then one per length; return 1 where ours is slower than the plain form."""
    torch.set_num_threads(1)
    peaks = {name: tools.peak(lambda name=name: training_step(name)) for name in MODELS}
    kept = {name: count_bytes(model(name), tokens()[:, :-1]).kept / 2**20 for name in MODELS}
    keep_freed_blocks()
    times = tools.medians({name: training_step(name) for name in MODELS}, 0, least=ROUNDS)
    print(f"{'step':>7} {'':>13} {'kept':>10} {'peak':>10}")
    for name in MODELS:
        print(f"{name:>7} {times[name]:10.1f} ms {kept[name]:7.0f} MB {peaks[name]:7.0f} MB", flush=True)
    print(f"a step {times['conv1d'] / times['ours']:.2f} times faster than conv1d's;"
          f" {times['llama'] / times['ours']:.2f} times faster than Llama, which keeps"
          f" {kept['llama'] / kept['ours']:.2f} times as much for backward")  # fmt: skip
    layer = layers()[SIZES["context"]]
    return int(layer["conv1d"] < ASKED * layer["ours"] and tools.device() == "cpu")


if __name__ == "__main__":
    sys.exit(main())
