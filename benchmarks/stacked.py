"""Whole updates of the training loop: runs one after the other, against the same runs as one stack.

    python benchmarks/stacked.py                    print
    python benchmarks/stacked.py --write            and keep, in benchmarks/stacked.json, one entry per device

Two sizes: small models, of the crossover at scale workstation and of modular addition, and, on a GPU, the crossover's
at scale gpu, in bfloat16. Each round times both ways; runs an hour are of 1,000 updates each.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import tools
from allmlp import models
from allmlp.common import paths
from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser
from allmlp.training.environment import provenance
from allmlp.training.loop import Training
from allmlp.training.stack import Stack

FILE = Path(__file__).with_suffix(".json")
ROUNDS, UPDATES, STEPS = 3, 5, 1000
OPTIMISER = Optimiser(learning_rate=2e-3, clip=1.0).model_dump()
SMALL: dict[str, Any] = {"vocabulary": 29, "context": 34, "d_model": 48, "n_blocks": 2, "n_heads": 4}
LARGE: dict[str, Any] = {"vocabulary": 29, "context": 130, "d_model": 256, "n_blocks": 4, "n_heads": 4}
OWN = ("gpt2", "masked-mixer", "dct-mlp", "causal-rn", "linear-causal-rn", "triangular", "hybrid")
STACKED = {"cpu": (5,), "cuda": (5, 20)}
ADDITION: dict[str, Any] = {
    "architecture": "constant-attention", "hyperparameters": {"vocabulary": 59}, "task": "modular-addition",
    "task_parameters": {"p": 59, "train_share": 0.8},
}  # fmt: skip


def runs(device: str) -> dict[str, Run]:
    """name -> a run of its setting."""

    def one(**changes: Any) -> Run:
        fields = {"optimiser": OPTIMISER, "steps": 1_000_000, "seed": 0, "measures": (), "device": device, **changes}
        return Run(study="copying", name=fields["architecture"], labels={}, **fields)

    found = {"constant-attention, modulo 59": one(**ADDITION)}
    for size, length, batch in ((SMALL, 16, 16), (LARGE, 64, 64)) if device == "cuda" else ((SMALL, 16, 16),):
        for name in OWN:
            takes = models.hyperparameters(name)
            own = {key: value for key, value in size.items() if key in takes}
            if name == "masked-mixer":
                own["n_heads"] = 1
            task = {"task": "copying", "task_parameters": {"string_length": length, "batch_size": batch}}
            found[f"{name}, width {size['d_model']}"] = one(
                architecture=name, hyperparameters=own, precision="bfloat16" if size is LARGE else "float32", **task
            )
    return found


def trainings(run: Run, count: int) -> list[Training]:
    """Of so many seeds."""
    return [Training(replace(run, seed=seed), Path(tempfile.mkdtemp())) for seed in range(count)]


def updates(update: Callable[[], object], members: Sequence[Training]) -> Callable[[], None]:
    """UPDATES updates of all members."""

    def several() -> None:
        for _ in range(UPDATES):
            update()
            for training in members:
                training.step += 1

    return several


def measured(run: Run, count: int) -> dict[str, float]:
    """Milliseconds of one update of `count` runs, one after the other and stacked, and their ratio."""
    alone, together = trainings(run, count), trainings(run, count)
    stack = Stack(together)
    ways = (
        updates(lambda: [training.update() for training in alone], alone),
        updates(lambda: stack.update(together), together),
    )
    for way in ways:
        way()
    rounds = [[tools.milliseconds(way) / UPDATES for way in ways] for _ in range(ROUNDS)]
    one, other = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {
        "alone_ms": float(f"{one:.4g}"),
        "stacked_ms": float(f"{other:.4g}"),
        "ratio": round(statistics.median(a / b for a, b in rounds), 2),
        "alone_runs_per_hour": round(3.6e6 * count / (one * STEPS)),
        "stacked_runs_per_hour": round(3.6e6 * count / (other * STEPS)),
    }


def main() -> None:
    """Measure every setting; with `--write` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    asked, device = parser.parse_args(), tools.device()
    torch.set_num_threads(1)
    print(f"{'':36}{'seeds':>6}{'alone':>12}{'stacked':>12}{'ratio':>7}{'runs an hour':>20}")
    rows = []
    for name, run in runs(device).items():
        for count in STACKED[device]:
            row = measured(run, count)
            rows.append({"setting": name, "seeds": count, **row})
            print(
                f"{name:36}{count:6}{row['alone_ms']:9.2f} ms{row['stacked_ms']:9.2f} ms{row['ratio']:7.2f}"
                f"{row['alone_runs_per_hour']:10,} {row['stacked_runs_per_hour']:9,}",
                flush=True,
            )
    if asked.write:
        table = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
        table[device] = {**provenance(device), "steps_of_a_run": STEPS, "settings": rows}
        paths.write_atomically(FILE, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
