"""A layer of DCT heads beside the direct windowed sum and beside the attention that it replaces, in one run.

    python benchmarks/dct.py        about 2 minutes on 1 core of a CPU; on a GPU where there is one

One sequence of width 512, 16 heads, 4 frequencies, forward and backward in float32, every layer with its projections;
windows from 4 to the length. `direct` is the same layer with each window's sum written out, as a convolution with the
cosines: of the ways that PyTorch has for it (copies of all windows, or a banded matrix of all pairs of positions, are
the others) the fastest. Attention is causal `scaled_dot_product_attention`. Prints the memory's peak above what was
there, the error of both forms against float64, and milliseconds a token of generation. For the times freed memory stays
with the process, as in training.
Draws the growth to work/bench/dct.svg and .png, and on a CPU exits with 1 where a target is missed.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import tools
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.dct import DCTHeads
from allmlp.models.sliding_dct import coefficients
from allmlp.report import style
from allmlp.training.memory import keep_freed_blocks

WIDTH, HEADS, FREQUENCIES = 512, 16, 4
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
ASKED, OF_DIRECT, OF_ATTENTION = 2048, 1 / 5, 1.0  # at this length at most so much of their time
SECONDS = 8.0  # of alternating rounds per length
GENERATED = 64


class DirectHeads(DCTHeads):
    """The same layer, each coefficient the sum over its own window."""

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self._finish(direct(self._heads(x_BTD), self.frequency_maps, self.sliding.windows))


def direct(x_BTHK: Tensor, weights: Tensor, windows: list[int]) -> Tensor:
    """What `SlidingDCT` computes, in O(T t k d)."""
    B, T, _, K = x_BTHK.shape
    heads = []
    for h, t in enumerate(windows):
        basis = torch.from_numpy(coefficients(t, weights.shape[1])).to(x_BTHK)
        rows = F.pad(x_BTHK[:, :, h].transpose(1, 2).reshape(B * K, 1, T), (t - 1, 0))
        dct_BKjT = F.conv1d(rows, basis[:, None]).view(B, K, -1, T)
        heads.append(torch.einsum("bkjt,jkl->btl", dct_BKjT, weights[h]))
    return torch.cat(heads, dim=-1)


LAYERS: dict[str, tuple[Callable[[int], nn.Module], str]] = {
    "direct": (lambda n: DirectHeads(WIDTH, n, n_heads=HEADS, frequencies=FREQUENCIES), style.PAPER),
    "ours": (lambda n: DCTHeads(WIDTH, n, n_heads=HEADS, frequencies=FREQUENCIES), style.colour("dct-mlp")),
    "attention": (lambda n: SoftmaxAttention(WIDTH, n, n_heads=HEADS, bias=True), style.colour("gpt2")),
}


def step(name: str, length: int) -> Callable[[], None]:
    """Forward and backward through one layer."""
    torch.manual_seed(0)
    layer = LAYERS[name][0](length).to(tools.device())
    x_BTD = torch.randn(1, length, WIDTH, device=tools.device(), requires_grad=True)
    g_BTD = torch.randn(1, length, WIDTH, device=tools.device())

    def run() -> None:
        layer.zero_grad(set_to_none=True)
        x_BTD.grad = None
        layer(x_BTD).backward(g_BTD)

    return run


def errors(length: int) -> dict[str, float]:
    """Largest difference to the direct sum in float64 over its largest value, of inputs that are far from centred."""
    torch.manual_seed(0)
    layer = DCTHeads(WIDTH, length, n_heads=HEADS, frequencies=FREQUENCIES)
    x_BTHK = 10 + torch.randn(1, length, HEADS, WIDTH // HEADS)
    with torch.no_grad():
        right = direct(x_BTHK.double(), layer.frequency_maps.double(), layer.sliding.windows)
        found = {
            "ours": layer.sliding(x_BTHK, layer.frequency_maps),
            "direct": direct(x_BTHK, layer.frequency_maps, layer.sliding.windows),
        }
    return {name: ((y - right).abs().max() / right.abs().max()).item() for name, y in found.items()}


@torch.no_grad()
def generation(name: str, length: int) -> float:
    """Milliseconds of one more token after `length` others."""
    layer = LAYERS[name][0](length + GENERATED)
    x_TBD = torch.randn(length + GENERATED, 1, WIDTH)
    state = layer.start(x_TBD[0])
    for x_BD in x_TBD[:length]:
        _, state = layer.step(x_BD, state)

    def run() -> None:
        following = state
        for x_BD in x_TBD[length:]:
            _, following = layer.step(x_BD, following)

    return min(tools.milliseconds(run) for _ in range(3)) / GENERATED


def main() -> int:
    """Print a line per length, then the targets; return 1 where one is missed."""
    torch.set_num_threads(1)
    memory = {n: {name: tools.peak(lambda k=name, n=n: step(k, n)) for name in LAYERS} for n in LENGTHS}
    keep_freed_blocks()
    print(f"{'n':>5}" + "".join(f" {name:>21}" for name in LAYERS) + "   ours / direct, ours / attention")
    times = {}
    for n in LENGTHS:
        times[n] = tools.medians({name: step(name, n) for name in LAYERS}, SECONDS, least=5 * (n == ASKED))
        ours = times[n]["ours"]
        cells = "".join(f" {times[n][k]:10.1f} ms {memory[n][k]:5.0f} MB" for k in LAYERS)
        print(f"{n:5}{cells} {ours / times[n]['direct']:8.3f} {ours / times[n]['attention']:8.2f}", flush=True)
    panels = {
        label: {name: (LENGTHS, [table[n][name] for n in LENGTHS]) for name in LAYERS}
        for label, table in (("forward and backward (ms)", times), ("peak above what was there (MB)", memory))
    }
    tools.draw("dct", f"width {WIDTH}, {HEADS} heads, one sequence", "length n (tokens)", panels,
               {name: colour for name, (_, colour) in LAYERS.items()})  # fmt: skip
    print(f"n={ASKED}: error " + ", ".join(f"{name} {error:.1e}" for name, error in errors(ASKED).items()))
    if tools.device() == "cuda":
        return 0
    after = {name: [generation(name, n) for n in (256, ASKED)] for name in ("ours", "attention")}
    for name, (early, late) in after.items():
        print(f"one more token, {name}: {early:.2f} ms after 256 tokens, {late:.2f} ms after {ASKED}")
    found = [times[ASKED]["ours"] / times[ASKED][name] for name in ("direct", "attention")]
    print(f"n={ASKED}: {found[0]:.3f} of the direct sum's time, asked {OF_DIRECT:g}; "
          f"{found[1]:.2f} of attention's, asked below {OF_ATTENTION:g}")  # fmt: skip
    return int(found[0] > OF_DIRECT or found[1] >= OF_ATTENTION)


if __name__ == "__main__":
    sys.exit(main())
