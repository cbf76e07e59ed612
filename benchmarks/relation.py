"""Time and memory of the exact causal relation layer against length, beside its plain form and its peers.

    python benchmarks/relation.py        about 5 minutes on 1 core of a CPU, Linux; on a GPU where there is one

Each is a layer of width 192 with its projections, (4, n, 192) in and out, forward and backward in float32; all are
warmed, then take turns in one process. `plain` is the same layer written with PyTorch's own operations on all n^2
pairs; the peers are softmax attention (`scaled_dot_product_attention`), linear attention (flash-linear-attention's
on a GPU where it is installed, else this project's) and linear causal relations. Memory is the peak above what
was there before: on a CPU a process's own for each number, on a GPU the allocator's. Beside them stands the time
that the bare exponentials take, once for the forward pass and once computed again.
Draws the growth to work/bench/relation.svg and .png, and on a CPU exits with 1 where a target is missed.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp import paths
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.linear_attention import LinearAttention
from allmlp.models.linear_causal_rn import LinearCausalRelation
from allmlp.report import style

BATCH, WIDTH = 4, 192
LENGTHS = (258, 514)
TARGETS = {258: (7, 15), 514: (12, 30)}  # length: times faster, times less memory than the plain form, at least
PLAIN_BYTES = 16e9  # the plain form is left out above this
SECONDS = 12.0  # of alternating rounds per length
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}  # glibc: give nothing back to the kernel


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


def linear_attention(device: str) -> type[nn.Module]:
    return FlashLinearAttention if device == "cuda" and find_spec("fla") else LinearAttention


def layers(device: str) -> dict[str, type[nn.Module]]:
    """The layers by name, plain form first, ours second."""
    return {
        "plain": PlainRelation,
        "ours": CausalRelation,
        "softmax attention": SoftmaxAttention,
        "linear attention": linear_attention(device),
        "linear relation": LinearCausalRelation,
    }


COLOURS = {
    "plain": style.PAPER,
    "ours": style.COLOURS["causal-rn"],
    "softmax attention": style.COLOURS["transformer"],
    "linear attention": style.COLOURS["linear-transformer"],
    "linear relation": style.COLOURS["linear-causal-rn"],
}


def step(name: str, length: int, device: str) -> Callable[[], None]:
    """Forward and backward through one layer."""
    torch.manual_seed(0)
    layer = layers(device)[name](WIDTH, length).to(device)
    x_BTD = torch.randn(BATCH, length, WIDTH, device=device, requires_grad=True)
    g_BTD = torch.randn(BATCH, length, WIDTH, device=device)

    def run() -> None:
        layer.zero_grad(set_to_none=True)
        x_BTD.grad = None
        layer(x_BTD).backward(g_BTD)
        if device == "cuda":
            torch.cuda.synchronize()

    return run


def milliseconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return 1000 * (time.perf_counter() - start)


def times(names: list[str], length: int, device: str) -> dict[str, float]:
    """Medians of rounds in which the layers take turns, after a first that warms up, or counts where it is long."""
    runs = {name: step(name, length, device) for name in names}
    measured = [[milliseconds(run) for run in runs.values()]]
    rounds = max(3 if length in TARGETS else 0, min(9, int(1000 * SECONDS / sum(measured[0]))))
    if rounds:
        measured = [[milliseconds(run) for run in runs.values()] for _ in range(rounds)]
    return dict(zip(names, map(statistics.median, zip(*measured, strict=True)), strict=True))


def resident(field: str) -> float:
    """A line of this process's memory, in MB: VmRSS now, VmHWM at its peak."""
    return int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0]) / 1024


def extra_memory(name: str, length: int, device: str) -> float:
    """The peak of one step above what was there before it, in MB, in this process."""
    step(name, 8, device)()
    run = step(name, length, device)
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    run()
    return resident("VmHWM") - before


def apart(*words: object, **environment: str) -> list[float]:
    """The numbers that this script prints in a process of its own."""
    command = [sys.executable, __file__, *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return [float(word) for word in done.stdout.split()]


def plain_fits(length: int, device: str) -> bool:
    """Whether the four (4, n, n, 192) arrays that the plain form holds at its peak fit, and leave as much to others."""
    if device == "cuda":
        free = torch.cuda.mem_get_info()[0]
    else:
        free = 1024 * int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0])
    return 4 * 4 * BATCH * length**2 * WIDTH < min(PLAIN_BYTES, 0.5 * free)


def exponentials(length: int) -> dict[str, list[float]]:
    """Milliseconds of a step of ours, and of twice n (n + 1) / 2 exponentials a sequence and feature, by turns."""
    x = torch.randn(4096)  # which the first-level cache holds
    y, repeats = torch.empty_like(x), BATCH * WIDTH * length * (length + 1) // len(x)

    def bare(function: Callable[..., Tensor]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(repeats):
                function(x, out=y)

        return run

    runs = {"ours": step("ours", length, "cpu"), "torch.exp": bare(torch.exp), "torch.exp2": bare(torch.exp2)}
    rounds = [[milliseconds(run) for run in runs.values()] for _ in range(7)]
    return {name: list(column) for name, column in zip(runs, zip(*rounds, strict=True), strict=True)}


def floor_on_gpu(length: int) -> float:
    """The same at the chip's rate: 16 a clock and multiprocessor."""
    chip = torch.cuda.get_device_properties(0)
    rate = 16 * chip.multi_processor_count * chip.clock_rate * 1e3
    return 1000 * BATCH * WIDTH * length * (length + 1) / rate


def draw(table: list[dict[str, float]], device: str) -> Path:
    """Both growths, as a picture."""
    where = torch.cuda.get_device_name() if device == "cuda" else "one CPU core"
    panels = (("ms", "forward and backward (ms)"), ("MB", "peak above what was there (MB)"))
    path = paths.project() / "work" / "bench" / "relation"
    path.parent.mkdir(parents=True, exist_ok=True)
    with style.matplotlib.rc_context(style.RC):
        figure, axes = style.canvas(columns=2, width=7.5, height=3.2)
        for axis, (unit, label) in zip(axes[0], panels, strict=True):
            for name, colour in COLOURS.items():
                points = [(row["n"], row[f"{name} {unit}"]) for row in table if row.get(f"{name} {unit}", 0) > 0]
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3, color=colour, label=name)
            axis.set(xscale="log", yscale="log", xlabel="length n (tokens)", ylabel=label)
            axis.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS], rotation=45)
            axis.minorticks_off()
        axes[0][0].set_title(f"{BATCH} sequences, width {WIDTH}, {where}")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(COLOURS))
        for suffix in ("svg", "png"):
            figure.savefig(path.with_suffix(f".{suffix}"))
    return path


def main() -> int:
    """Print a line per length, then the targets; return 1 where one is missed."""
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    match sys.argv[1:]:
        case ["--memory", name, length]:
            print(extra_memory(name, int(length), device))
            return 0
        case ["--times", length]:
            print(*times(["plain", "ours"], int(length), device).values())
            return 0
    print(f"{'n':>5}" + "".join(f" {name:>24}" for name in COLOURS) + "    plain / ours")
    table = []
    for length in LENGTHS:
        names = [name for name in COLOURS if name != "plain" or plain_fits(length, device)]
        row: dict[str, float] = {"n": length}
        row |= {f"{name} ms": value for name, value in times(names, length, device).items()}
        for name in names:
            measured = extra_memory(name, length, device) if device == "cuda" else apart("--memory", name, length)[0]
            row[f"{name} MB"] = measured
        table.append(row)
        cells = "".join(
            f" {row[f'{n} ms']:10.1f} ms {row[f'{n} MB']:7.0f} MB" if n in names else f" {'-':>24}" for n in COLOURS
        )
        ratios = [row[f"plain {unit}"] / row[f"ours {unit}"] if "plain" in names else None for unit in ("ms", "MB")]
        print(f"{length:5}{cells}" + "".join(f" {ratio:7.1f}" for ratio in ratios if ratio), flush=True)
    print(f"drawn: {draw(table, device)}.svg and .png")
    missed = 0
    for row in (row for row in table if row["n"] in TARGETS):
        length, ours = int(row["n"]), row["ours ms"]
        if device == "cuda":
            floor = floor_on_gpu(length)
            print(f"n={length}: {ours / floor:.2f} times the {floor:.3f} ms of the exponentials at the chip's rate")
            continue
        if "plain ms" in row:
            faster, smaller = row["plain ms"] / ours, row["plain MB"] / row["ours MB"]
            said = f"{faster:.1f} times faster than plain, {smaller:.1f} times less memory"
            missed += faster < TARGETS[length][0] or smaller < TARGETS[length][1]
            print(f"n={length}: {said}; asked {TARGETS[length][0]} and {TARGETS[length][1]}")
            plain_kept, ours_kept = apart("--times", length, **KEEP)
            print(f"       where freed memory of any size is kept: {plain_kept / ours_kept:.1f} times faster")
        ours, *bare = exponentials(length).items()
        for name, taken in bare:
            ratio = statistics.median(a / b for a, b in zip(ours[1], taken, strict=True))
            print(
                f"       {ratio:.2f} times the {statistics.median(taken):.1f} ms of bare {name}, forward and recomputed"
            )
    return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
