"""Time and memory of the exact causal relation layer against length, beside its plain form and its peers.

    python benchmarks/relation.py        about 4 minutes on 1 core of a CPU, Linux; on a GPU where there is one

Each is a layer of width 192 with its projections, (4, n, 192) in and out, forward and backward in float32; all are
warmed, then take turns in one process. `plain` is the same layer written with PyTorch's own operations on all n^2
pairs; the peers are softmax attention (`scaled_dot_product_attention`), linear attention (flash-linear-attention's
on a GPU where it is installed, else this project's) and linear causal relations. Memory is the peak above what
was there before: on a CPU a process's own for each number, on a GPU the allocator's. Beside them stands the time
that the bare exponentials take, once for the forward pass and once computed again. `torch.compile` of the loop's
bodies, one fused pass over a block each, measured worse (n=258: 1.8 times the time, and seconds to compile), so
nothing is compiled.
Draws the growth to work/bench/relation.svg and .png, and on a CPU exits with 1 where a target is missed.
"""

import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import tools
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.linear_attention import LinearAttention
from allmlp.report import style

BATCH, WIDTH = 4, 192
LENGTHS = (64, 128, 258, 514, 1024, 2048, 4096)
TARGETS = {258: (7, 15), 514: (12, 30)}  # length: times faster, times less memory than the plain form, at least
PLAIN_BYTES = 12e9  # the plain form is left out above this
SECONDS = 8.0  # of alternating rounds per length


class PlainRelation(CausalRelation):
    """The same layer with all pairs in memory: (B, T_j, T_i, D)."""

    def forward(self, x_BTD: Tensor) -> Tensor:
        p_BTD, q_BTD = self._project(x_BTD)
        T = x_BTD.shape[1]
        z_BjiD = F.layer_norm(p_BTD[:, None] + q_BTD[:, :, None], (self.d_model,), eps=self.eps)
        future_jiD = torch.ones(T, T, 1, dtype=torch.bool, device=x_BTD.device).triu(1)
        sums_BTD = z_BjiD.exp().masked_fill(future_jiD, 0).sum(2)
        return self._finish(sums_BTD / torch.arange(1, T + 1, device=x_BTD.device)[:, None])


class FlashLinearAttention(nn.Module):
    """The peer that users take on a GPU: its chunked kernel between this project's projections."""

    def __init__(self, d_model: int, context: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        from fla.ops.linear_attn import chunk_linear_attn

        q, k, v = (part[:, :, None] for part in self.qkv(x_BTD).chunk(3, dim=-1))
        return self.out(chunk_linear_attn(F.elu(q) + 1, F.elu(k) + 1, v, normalize=True)[0][:, :, 0])


LAYERS = {
    "plain": (PlainRelation, style.PAPER),
    "ours": (CausalRelation, style.COLOURS["causal-rn"]),
    "softmax attention": (SoftmaxAttention, style.COLOURS["transformer"]),
    "linear attention": (
        FlashLinearAttention if tools.device() == "cuda" and find_spec("fla") else LinearAttention,
        style.COLOURS["linear-transformer"],
    ),
    "linear relation": (partial(CausalRelation, pre_norm="approximate"), style.COLOURS["linear-causal-rn"]),
}


def step(name: str, length: int) -> Callable[[], None]:
    """Forward and backward through one layer."""
    torch.manual_seed(0)
    layer = LAYERS[name][0](WIDTH, length).to(tools.device())
    x_BTD = torch.randn(BATCH, length, WIDTH, device=tools.device(), requires_grad=True)
    g_BTD = torch.randn(BATCH, length, WIDTH, device=tools.device())

    def run() -> None:
        layer.zero_grad(set_to_none=True)
        x_BTD.grad = None
        layer(x_BTD).backward(g_BTD)

    return run


def warmed(name: str, length: int) -> Callable[[], None]:
    """The same, after a first short one: what PyTorch itself takes once is not the layer's."""
    step(name, 8)()
    return step(name, length)


def plain_fits(length: int) -> bool:
    """Whether the four (4, n, n, 192) arrays that the plain form holds at its peak fit, and leave as much to others."""
    if tools.device() == "cuda":
        free = torch.cuda.mem_get_info()[0]
    else:
        free = 1024 * int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0])
    return 4 * 4 * BATCH * length**2 * WIDTH < min(PLAIN_BYTES, 0.5 * free)


def freed_memory_kept(length: int) -> float:
    """How many times faster than plain where the C library keeps freed memory of any size, which favours plain."""
    tools.keep_all_freed()
    taken = tools.medians({name: warmed(name, length) for name in ("plain", "ours")}, SECONDS, least=3)
    return taken["plain"] / taken["ours"]


def exponentials(length: int) -> None:
    """Print a step of ours beside twice n (n + 1) / 2 exponentials a sequence and feature, in their own rounds."""
    if tools.device() == "cuda":  # at the chip's rate: 16 a clock and multiprocessor
        chip = torch.cuda.get_device_properties(0)
        floor = 1000 * BATCH * WIDTH * length * (length + 1) / (16 * chip.multi_processor_count * chip.clock_rate * 1e3)
        ours = tools.medians({"ours": step("ours", length)}, 1)["ours"]
        print(f"       {ours / floor:.2f} times the {floor:.3f} ms of the exponentials at the chip's rate")
        return
    x = torch.randn(4096)  # which the first-level cache holds
    y, repeats = torch.empty_like(x), BATCH * WIDTH * length * (length + 1) // len(x)

    def bare(function: Callable[..., Tensor]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(repeats):
                function(x, out=y)

        return run

    runs = {"ours": step("ours", length), "torch.exp": bare(torch.exp), "torch.exp2": bare(torch.exp2)}
    rounds = [[tools.milliseconds(run) for run in runs.values()] for _ in range(6)][1:]
    ours, *others = zip(*rounds, strict=True)
    for name, taken in zip(list(runs)[1:], others, strict=True):
        ratio = statistics.median(a / b for a, b in zip(ours, taken, strict=True))
        print(f"       {ratio:.1f} times the {statistics.median(taken):.1f} ms of bare {name}, forward and recomputed")


def main() -> int:
    """Print a line per length, then the targets; return 1 where one is missed."""
    torch.set_num_threads(1)
    names = {n: [name for name in LAYERS if name != "plain" or plain_fits(n)] for n in LENGTHS}
    memory = {n: {name: tools.peak(lambda k=name, n=n: warmed(k, n)) for name in names[n]} for n in LENGTHS}
    on_cpu = tools.device() == "cpu"
    kept = {n: tools.apart(freed_memory_kept, n) for n in TARGETS if on_cpu and "plain" in names[n]}
    print(f"{'n':>5}" + "".join(f" {name:>21}" for name in LAYERS) + "   plain / ours")
    times = {}
    for n in LENGTHS:
        times[n] = tools.medians({name: warmed(name, n) for name in names[n]}, SECONDS, least=5 * (n in TARGETS))
        cells = [f"{times[n][k]:8.1f} ms {memory[n][k]:6.0f} MB" if k in names[n] else "-" for k in LAYERS]
        ratios = [f"{both['plain'] / both['ours']:6.1f}" for both in (times[n], memory[n]) if "plain" in both]
        print(f"{n:5}" + "".join(f" {cell:>21}" for cell in cells) + " " + "".join(ratios), flush=True)
    panels = {
        label: {name: ([n for n in LENGTHS if name in names[n]], [table[n][name] for n in LENGTHS if name in names[n]])
                for name in LAYERS}
        for label, table in (("forward and backward (ms)", times), ("peak above what was there (MB)", memory))
    }  # fmt: skip
    tools.draw("relation", f"{BATCH} sequences, width {WIDTH}", "length n (tokens)", panels,
               {name: colour for name, (_, colour) in LAYERS.items()})  # fmt: skip
    missed = 0
    for n, (faster, smaller) in TARGETS.items():
        if n in kept:
            found = times[n]["plain"] / times[n]["ours"], memory[n]["plain"] / memory[n]["ours"]
            missed += found[0] < faster or found[1] < smaller
            print(f"n={n}: {found[0]:.1f} times faster than plain, {found[1]:.1f} times less memory;"
                  f" asked {faster} and {smaller}")  # fmt: skip
            print(f"       {kept[n]:.1f} times faster where freed memory of any size is kept")
        exponentials(n)
    return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
