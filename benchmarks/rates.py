"""Seconds per counted FLOP of a training step, per architecture, and of a job's start, for the hours of `allmlp plan`.

    python benchmarks/rates.py --write              one thread of an idle CPU, about ten seconds
    python benchmarks/rates.py --write --device cuda
    python benchmarks/rates.py --write --start     only the start of a job

Each architecture is timed at the size of its median run of scale workstation on a CPU, and of scale gpu, in that run's
precision, on a GPU; of all scales, if it has no run there. A step is forward, backward, clipping and AdamW on random
inputs; the median of several steps, all in one run. `--write` keeps them in src/allmlp/plan/rates.json, one entry per
device; `make bench` only prints them.

The start of a job is what `allmlp train` takes for the least run of the smoke scale.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import torch
from torch import nn

from allmlp import models
from allmlp.common import paths
from allmlp.plan import model_facts
from allmlp.plan.device_types import RATES
from allmlp.plan.plan import load_plan
from allmlp.spec.run import Run
from allmlp.training.environment import provenance

SCALES = {"cpu": "workstation", "cuda": "gpu"}
WARM_UP, STEPS, STARTS = 2, 9, 3


def typical_runs(device: str) -> dict[str, Run]:
    """architecture -> the run whose step has the median count of FLOPs."""
    plan = load_plan(changes={"scale": SCALES[device]})
    every = [run for of_study in plan.runs_by_scale.values() for runs in of_study.values() for run in runs]
    found = {}
    for name in models.REGISTRY:
        of_name = [run for run in plan.runs if run.architecture == name and run.steps]
        of_name = of_name or [run for run in every if run.architecture == name and run.steps]
        if of_name:
            found[name] = sorted(of_name, key=lambda run: (counted(run), run.id))[len(of_name) // 2]
    return found


def counted(run: Run) -> int:
    """FLOPs of one of its steps."""
    sequences = model_facts.batch(run.task, run.task_parameters).sequences
    return model_facts.counts(run.architecture, run.hyperparameters, sequences).flops


def update(run: Run, device: str) -> Callable[[], None]:
    """One training step on random inputs."""
    torch.manual_seed(0)
    model = models.build(run.architecture, **run.hyperparameters).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    sequences = model_facts.batch(run.task, run.task_parameters).sequences
    shape = (sequences, model.context)
    inputs = torch.randint(model.vocabulary, shape) if model.features is None else torch.randn(*shape, model.features)
    inputs = inputs.to(device)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=run.precision == "bfloat16"):
            logits = model(inputs)
        targets = torch.zeros(logits.shape[:-1].numel(), dtype=torch.int64, device=device)
        nn.functional.cross_entropy(logits.flatten(0, -2).float(), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def seconds(step: Callable[[], None]) -> float:
    """The median of some steps, after some that warm up."""
    taken = []
    for _ in range(WARM_UP + STEPS):
        before = time.perf_counter()
        step()
        taken.append(time.perf_counter() - before)
    return statistics.median(taken[WARM_UP:])


def start() -> float:
    """Processor seconds of `allmlp train` for the least run of the smoke scale."""
    runs = [run for run in load_plan(changes={"scale": "smoke"}).runs if run.steps and not run.tokens and not run.needs]
    run = min(runs, key=lambda run: counted(run) * run.steps)
    taken = []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as folder:
            before = os.times()
            subprocess.run(
                [sys.executable, "-m", "allmlp", "train", run.id, "--scale", "smoke"],
                env={**os.environ, paths.DIRECTORY: folder, paths.PROJECT: str(paths.project())},
                check=True,
                capture_output=True,
            )
            after = os.times()
            taken.append(sum(after[2:4]) - sum(before[2:4]))  # of children: other processes may slow the clock
    return min(taken)


def main() -> None:
    """Time every architecture; with `--write` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--start", action="store_true")
    asked = parser.parse_args()
    device = asked.device
    torch.set_num_threads(1)
    table = json.loads(RATES.read_text(encoding="utf-8")) if RATES.is_file() else {}
    if device == "cpu":
        table["start_s"] = float(f"{start():.3g}")
        print(f"a job starts in {table['start_s']} s")
    if not asked.start:
        table[device] = {"hardware": provenance(device)["hardware"], "seconds_per_flop": measured(device)}
    if asked.write:
        paths.write_atomically(RATES, json.dumps(table, indent=1) + "\n")


def measured(device: str) -> dict[str, float]:
    """architecture -> seconds per counted FLOP, printed as they come."""
    rates = {}
    for name, run in typical_runs(device).items():
        of_step = seconds(update(run, device))
        rates[name] = float(f"{of_step / counted(run):.3g}")
        print(f"{name:32} {1000 * of_step:9.2f} ms a step {1e-9 / rates[name]:8.1f} GFLOP/s   {run.id}")
    return rates


if __name__ == "__main__":
    main()
