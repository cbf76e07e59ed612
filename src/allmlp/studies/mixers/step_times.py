"""Seconds of a training step as the article takes it, of every model side by side, for comparisons at equal time.

    python -m allmlp.studies.mixers.step_times --write                 an idle machine, one thread, about ten minutes
    python -m allmlp.studies.mixers.step_times --write --device cuda

Trainings share machines and leave padding out, so the time of a training is not a property of its model. Here all
models are timed in rounds, every model once per round, in one process, so that a slow machine slows all of them. Their
rows are full, and they compute all logits. A machine that gives the process less than IDLE of its time is refused.
`--write` keeps the rounds in step_times.json, one entry per device. The key of a model is its name and the operations
of its step, so another context or vocabulary is another model.

001-31 compares two models of the article's own size, which are not trained here but timed too.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

FILE = Path(__file__).with_name("step_times.json")
SCALES = {"cpu": ("laptop", "workstation", "long"), "cuda": ("gpu",)}
ROUNDS, SHORT_S, FEWEST, PRINTED_ROUNDS = 9, 0.3, 2, 5  # in each round a model is timed for SHORT_S, FEWEST steps
IDLE = 0.95  # least share of a CPU's time that the process must get
SIZE = {"context": 512, "vocabulary": 4096, "n_blocks": 8}
PRINTED: dict[str, tuple[str, dict[str, Any]]] = {  # of 001-31, in batches of 16
    "expanded mixer of width 256": ("masked-mixer", {**SIZE, "d_model": 256, "expansion": 2.0}),
    "Llama of width 128": ("llama", {**SIZE, "d_model": 128, "n_heads": 16, "fused": False}),
}
PRINTED_BATCH = 16
LABELS = ["variant", "d_model", "n_blocks", "batch_size", "padding"]


class TimedModel(NamedTuple):
    """A model's rounds."""

    flops: int
    seconds: list[float]


class Table(NamedTuple):
    """The times of one device: the hardware, and name -> rounds."""

    hardware: str
    models: dict[str, TimedModel]
    printed: dict[str, TimedModel]


def read(device: str = "cpu") -> Table | None:
    """The table of one device; None if it was not measured."""
    content = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    if device not in content:
        return None
    of_device = content[device]
    models, printed = ({name: TimedModel(**of) for name, of in of_device[key].items()} for key in ("models", "printed"))
    return Table(of_device["hardware"], models, printed)


def model_name(labels: Mapping[Any, Any]) -> str:
    """A model's name, from the labels of its run, with the padding: masks make attention slower."""
    left = "-left" if labels["padding"] == "left" else ""
    return f"{labels['variant']}-d{labels['d_model']}-n{labels['n_blocks']}-b{labels['batch_size']}{left}"


class Benchmark(NamedTuple):
    """Name -> seconds per step in each round, and the hardware."""

    hardware: str
    seconds: dict[str, np.ndarray]


def model_benchmark(rows: pd.DataFrame) -> Benchmark | None:
    """The benchmark of all models of these rows, with the labels of runs, and `flops_per_step` if a step was done.

    None if one of them was not timed: seconds of the benchmark and of trainings must not be mixed.
    """
    asked = rows[rows["step"].gt(0)].drop_duplicates(LABELS).to_dict("records") if set(LABELS) <= set(rows) else []
    for table in filter(None, map(read, SCALES)):
        named = [(model_name(labels), labels["flops_per_step"]) for labels in asked]
        if named and all(name in table.models and table.models[name].flops == flops for name, flops in named):
            return Benchmark(table.hardware, {name: np.array(table.models[name].seconds) for name, _ in named})
    return None


def trained_models(device: str) -> dict[str, tuple[str, dict[str, Any], int]]:
    """Name -> architecture, hyperparameters and sequences of a batch, of all trainings of the scales of a device."""
    from allmlp.data import tasks
    from allmlp.plan.plan import load_plan

    found = {}
    for scale in SCALES[device]:
        for run in load_plan(changes={"scale": scale}).runs_by_scale[scale]["mixers"]:
            if run.labels.get("part") == "training":
                sequences = tasks.size(run.task, run.task_parameters)[0]
                found[model_name(run.labels)] = (run.architecture, run.hyperparameters, sequences)
    return found


def update(architecture: str, hyperparameters: dict[str, Any], sequences: int, device: str) -> Callable[[], None]:
    """One step on full rows with all logits: forward, backward, clipping, AdamW. On a GPU as scale gpu: bfloat16."""
    import torch
    from torch import nn

    from allmlp import models

    torch.manual_seed(0)
    model = models.build(architecture, **hyperparameters).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(1, model.vocabulary, (sequences, model.context)).to(device)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(tokens)
        nn.functional.cross_entropy(logits.flatten(0, -2).float(), tokens.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def measure(
    models: Mapping[str, tuple[str, dict[str, Any], int]], device: str, count: int, at_least_s: float
) -> dict[str, TimedModel]:
    """Every model once in each of `count` rounds."""
    from allmlp.plan import model_facts
    from allmlp.studies.mixers.measures.costs import median_seconds  # imports torch

    seconds: dict[str, list[float]] = {name: [] for name in models}
    for number in range(count):
        for name, of in models.items():
            seconds[name].append(float(f"{median_seconds(update(*of, device), device, at_least_s, FEWEST):.4g}"))
        print(f"round {number + 1} of {count}", flush=True)
    return {name: TimedModel(model_facts.counts(*of).flops, seconds[name]) for name, of in models.items()}


def main(arguments: Iterable[str] | None = None) -> None:
    """Time every model; with `--write` keep the rounds."""
    import torch

    from allmlp.common import paths
    from allmlp.training.environment import provenance

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cpu", choices=list(SCALES))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(None if arguments is None else list(arguments))
    torch.set_num_threads(1)
    began, used = time.perf_counter(), time.process_time()
    models = measure(trained_models(asked.device), asked.device, asked.rounds, SHORT_S)
    of_printed = {name: (*of, PRINTED_BATCH) for name, of in PRINTED.items()}
    printed = measure(of_printed, asked.device, min(PRINTED_ROUNDS, asked.rounds), 0.0)
    share = (time.process_time() - used) / (time.perf_counter() - began)
    for name, of in {**models, **printed}.items():
        print(f"{name:40} {1000 * statistics.median(of.seconds):9.2f} ms a step")
    print(f"the process had {share:.0%} of a CPU's time")
    if not asked.write:
        return
    if asked.device == "cpu" and share < IDLE:
        raise SystemExit(f"the machine was not idle: less than {IDLE:.0%}. Nothing is written; run it again alone.")
    content = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    content[asked.device] = {
        "hardware": provenance(asked.device)["hardware"],
        "models": {name: of._asdict() for name, of in models.items()},
        "printed": {name: of._asdict() for name, of in printed.items()},
    }
    paths.write_atomically(FILE, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
