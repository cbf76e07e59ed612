"""The scan behind linear causal relations beside `torch.logcumsumexp`, forward and backward, in one run.

    python benchmarks/linear_relation.py        about 1 minute on 1 core of a CPU

`bounded` is what a layer takes whose p has passed a norm: exp, cumsum, log. Medians of alternating rounds.
Draws the growth to work/bench/linear_relation.svg and .png; exits with 1 where the scan is not faster.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor

import tools
from allmlp.models.linear_relation import log_sums
from allmlp.report import style

SHAPES = ((4, 192), (32, 48))  # B, D: a paper's layer, a laptop's
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
SECONDS = 3.0
COLOURS = {
    "torch.logcumsumexp": style.PAPER,
    "ours": style.COLOURS["causal-rn"],
    "bounded": style.COLOURS["linear-causal-rn"],
}
SCANS = {
    "torch.logcumsumexp": lambda p: torch.logcumsumexp(p, dim=1),
    "ours": log_sums,
    "bounded": lambda p: p.exp().cumsum(1).log(),
}


def step(scan: Callable[[Tensor], Tensor], batch: int, length: int, width: int) -> Callable[[], object]:
    """Forward and backward."""
    torch.manual_seed(0)
    p_BTD = torch.randn(batch, length, width, device=tools.device(), requires_grad=True)
    g_BTD = torch.randn(batch, length, width, device=tools.device())
    return lambda: torch.autograd.grad(scan(p_BTD), p_BTD, g_BTD)


def main() -> int:
    """Print a line per shape and length; return 1 where the scan takes longer than PyTorch's."""
    torch.set_num_threads(1)
    print(f"{'shape':>14}" + "".join(f" {name:>18}" for name in SCANS) + "  torch / ours")
    panels, slower = {}, 0
    for batch, width in SHAPES:
        rows = []
        for n in LENGTHS:
            times = tools.medians({k: step(scan, batch, n, width) for k, scan in SCANS.items()}, SECONDS, least=3)
            ratio = times["torch.logcumsumexp"] / times["ours"]
            rows, slower = [*rows, times], slower + (ratio <= 1)
            cells = "".join(f" {times[name]:15.2f} ms" for name in SCANS)
            print(f"{f'{batch}, {n}, {width}':>14}{cells} {ratio:7.1f}", flush=True)
        label = f"({batch}, n, {width}), forward and backward (ms)"
        panels[label] = {name: (LENGTHS, [times[name] for times in rows]) for name in SCANS}
    tools.draw("linear_relation", "logarithms of running sums", "length n (tokens)", panels, COLOURS)
    return min(1, slower)


if __name__ == "__main__":
    sys.exit(main())
