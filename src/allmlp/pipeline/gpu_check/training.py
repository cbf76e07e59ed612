"""50 steps of training on a device, plain, compiled, in bfloat16 and stacked, against single precision on the CPU."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from allmlp.pipeline.gpu_check.outcome import Check
from allmlp.spec.run import Run
from allmlp.training.loop import Training
from allmlp.training.stack import Stack

STEPS = 50
SIZES: dict[str, Any] = {"vocabulary": 29, "context": 34, "d_model": 48, "n_blocks": 2}
OPTIMISER: dict[str, Any] = {
    "learning_rate": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01, "clip": 1.0,
    "warmup_steps": 10, "schedule": "cosine", "minimum_learning_rate": 1e-4, "accumulation": 1,
}  # fmt: skip
ARCHITECTURES = {
    "causal-rn": {}, "linear-causal-rn": {}, "transformer": {}, "linear-transformer": {}, "gpt2": {"n_heads": 4},
    "dct-mlp": {"n_heads": 4}, "masked-mixer": {}, "llama": {"n_heads": 4}, "triangular": {}, "hybrid": {},
}  # fmt: skip
COMPILED = ("masked-mixer", "llama", "causal-rn", "transformer")  # what scale paper compiles
# Nats, of losses near log 29 = 3.37. On a CPU compiled trainings come to 5e-7, those in bfloat16 to 4e-4.
MOST = {"float32": 1e-4, "bfloat16": 5e-3}


def small_run(architecture: str, device: str, **changes: Any) -> Run:
    """A small run of the copying task."""
    return replace(
        Run(
            study="copying", name=architecture, labels={}, architecture=architecture,
            hyperparameters={**SIZES, **ARCHITECTURES.get(architecture, {})}, task="copying",
            task_parameters={"string_length": 16, "batch_size": 32}, optimiser=OPTIMISER, steps=STEPS, seed=0,
            measures=(), device=device,
        ),
        **changes,
    )  # fmt: skip


def check_modes(device: str) -> Iterator[Check]:
    """Every architecture on the device; those that scale paper compiles, compiled too."""
    for architecture in ARCHITECTURES:
        on_cpu = cache(partial(losses, small_run(architecture, "cpu")))
        for precision in MOST:
            for compiled in (False, True) if architecture in COMPILED else (False,):
                name = f"{architecture}, {precision}{', compiled' * compiled}, {STEPS} steps"
                run = small_run(architecture, device, precision=precision, compile=compiled)
                yield name, partial(_compare_with_cpu, run, on_cpu)


def check_stacks(device: str) -> Iterator[Check]:
    """Three seeds of every architecture as one stack, against each alone."""
    for architecture in ARCHITECTURES:
        yield f"{architecture}, 3 seeds as one stack, {STEPS} steps", partial(_compare_stack, architecture, device)


def _compare_stack(architecture: str, device: str) -> tuple[bool, str]:
    runs = [small_run(architecture, device, seed=seed, stacked=3) for seed in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        trainings = [Training(run, Path(folder) / str(run.seed)) for run in runs]
        together, found = Stack(trainings), []
        for _ in range(STEPS):
            found.append([row["loss"] for row in together.update(trainings)])
            for training in trainings:
                training.step += 1
    alone = torch.stack([losses(small_run(architecture, "cpu", seed=run.seed)) for run in runs], 1)
    return _judge_difference(torch.tensor(found) - alone, MOST["float32"])


def _compare_with_cpu(run: Run, on_cpu: Callable[[], torch.Tensor]) -> tuple[bool, str]:
    return _judge_difference(losses(run) - on_cpu(), MOST[run.precision])


def _judge_difference(difference: torch.Tensor, most: float) -> tuple[bool, str]:
    apart = difference.abs().max().item()
    return apart <= most, f"at most {apart:.1e} nats from the CPU's losses (allowed {most:g})"


def losses(run: Run) -> torch.Tensor:
    """The training losses of a run."""
    with tempfile.TemporaryDirectory() as folder:
        training = Training(run, Path(folder))
        found = []
        for _ in range(run.steps):
            found.append(training.update()["loss"])
            training.step += 1
        torch.compiler.reset()
        return torch.tensor(found)
