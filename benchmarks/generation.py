"""Tokens a second against length: one more token from the state (`step`), beside a full pass for each token.

    python benchmarks/generation.py        about 4 minutes on 1 core of a CPU

One sequence, 002's networks and 001's flat masked mixer at width 192 and 6 blocks, float32, without gradients. The
networks take turns, a token each, to the longest length; a rate is the median of the last tokens before a length.
001 published a full pass for each token, over the whole context however long the text is: here over the text alone.
Prints both rates and their ratio, draws them to work/bench/generation.svg and .png, and on a CPU exits with 1 where the
step of 001's mixer, of width 512 and 8 blocks, is not 20 times faster than its full pass at 512 tokens.
"""

import statistics
import sys

import torch

import tools
from allmlp import models
from allmlp.report import style

NAMES = ("causal-rn", "linear-causal-rn", "transformer", "linear-transformer", "masked-mixer")
SIZES = {"vocabulary": 256, "d_model": 192, "n_blocks": 6}
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
WINDOW, SECONDS = 16, 3.0
PUBLISHED = {"vocabulary": 4096, "context": 512, "d_model": 512, "n_blocks": 8}  # 001's mixer
ASKED = 20  # times faster with its state than by full passes, at its whole context, at least (001-29)


def stepping(networks: dict[str, torch.nn.Module], tokens: torch.Tensor) -> dict[str, dict[int, float]]:
    """Tokens a second with state, by network and length."""
    states = {name: network.start(1) for name, network in networks.items()}
    taken: dict[str, list[float]] = {name: [] for name in networks}
    for t in range(LENGTHS[-1]):
        for name, network in networks.items():

            def step(name: str = name, network: torch.nn.Module = network, t: int = t) -> None:
                _, states[name] = network.step(tokens[:, t], states[name])

            taken[name].append(tools.milliseconds(step))
    return {name: {n: 1000 / statistics.median(ms[n - WINDOW : n]) for n in LENGTHS} for name, ms in taken.items()}


def main() -> int:
    """Print a line per length, then the target; return 1 where it is missed."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    networks = {name: models.build(name, context=LENGTHS[-1], **SIZES).to(tools.device()) for name in NAMES}
    tokens = torch.randint(256, (1, LENGTHS[-1]), device=tools.device())
    with torch.no_grad():
        for network in networks.values():
            network(tokens[:, :8])  # warmed
        by_step, by_pass = stepping(networks, tokens), {name: {} for name in NAMES}
        print(f"{'n':>5}" + "".join(f" {f'{name}: step, pass':>32}" for name in NAMES) + "   tokens/s (ratio)")
        for n in LENGTHS:
            runs = {name: lambda network=network, n=n: network(tokens[:, :n]) for name, network in networks.items()}
            for name, taken in tools.medians(runs, SECONDS).items():
                by_pass[name][n] = 1000 / taken
            cells = (f"{a:9.1f} {b:8.1f} ({a / b:6.1f})" for a, b in ((by_step[k][n], by_pass[k][n]) for k in NAMES))
            print(f"{n:5}" + "".join(f" {cell:>32}" for cell in cells), flush=True)
    lines = {}
    for name in NAMES:
        lines[name] = (LENGTHS, list(by_step[name].values()))
        lines[f"{name}, full pass"] = (LENGTHS, list(by_pass[name].values()))
    title = f"width {SIZES['d_model']}, {SIZES['n_blocks']} blocks, one sequence"
    tools.draw("generation", title, "length n (tokens)", {"tokens a second": lines},
               {line: style.colour(line.removesuffix(", full pass")) for line in lines})  # fmt: skip
    faster = of_published_size()
    print(f"001's mixer at {PUBLISHED['context']} tokens: {faster:.1f} times faster than full passes, asked {ASKED}")
    return int(faster < ASKED and tools.device() == "cpu")


@torch.no_grad()
def of_published_size() -> float:
    """How many times faster a step of 001's mixer is than its full pass, at its whole context."""
    mixer = models.build("masked-mixer", **PUBLISHED).to(tools.device())
    tokens = torch.randint(PUBLISHED["vocabulary"], (1, PUBLISHED["context"]), device=tools.device())
    state, taken = mixer.start(1), []

    def step(t: int) -> None:
        nonlocal state
        _, state = mixer.step(tokens[:, t], state)

    for t in range(PUBLISHED["context"]):
        taken.append(tools.milliseconds(lambda t=t: step(t)))
    return tools.medians({"pass": lambda: mixer(tokens)}, SECONDS)["pass"] / statistics.median(taken[-WINDOW:])


if __name__ == "__main__":
    sys.exit(main())
