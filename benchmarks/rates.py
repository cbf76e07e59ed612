"""Seconds of a training step by its size, per architecture, and of a job's start, for the hours of `allmlp plan`.

    python benchmarks/rates.py --write                   from the committed runs, and a job's start here
    python benchmarks/rates.py --write --device cuda     timed here, under three minutes
    python benchmarks/rates.py --write --start           only the start of a job
    python benchmarks/rates.py --device cuda --steps F   only the times, into a file, point by point; it goes on there
    python benchmarks/rates.py --write --device cuda --fit      only the fit, of the times in benchmarks/steps.json

A step takes step_s + s_per_flop * its counted operations + s_per_parameter * the model's parameters: what does not
depend on the size, matrix operations, bytes moved. The three are fitted by least squares of the relative error, none
below zero, and no operation faster than in the fastest step of this device: small steps say nothing of larger ones.
With less than ENOUGH sizes s_per_parameter is 0; with one, step_s has the share that it has of others' steps of as many
operations, in the median.

A CPU's points are the seconds of the runs in results/tables/runs.csv: whole trainings, on machines that others shared.
A GPU's are those of benchmarks/gpu.json, and steps timed at the sizes of GRID, and at up to SIZES sizes of each
architecture from the runs of scales gpu and paper, or of a bundle where parameters cannot be read; in bfloat16 or the
run's precision: forward, backward, clipping and AdamW on random inputs, the median of several. Sizes beyond its memory
are left out. They are kept in benchmarks/steps.json; without a GPU they are fitted again. Compiled steps (`--compile`)
are kept too, and not fitted yet.
The error is that of sizes which the fit had not seen: each size is predicted from the others. `--write` keeps all in
src/allmlp/plan/rates.json, one entry per device; `make bench` only prints.

The start of a job is what `allmlp train` takes for the least run of the smoke scale.
"""

import argparse
import inspect
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.optimize import lsq_linear
from torch import nn

from allmlp import models
from allmlp.common import paths
from allmlp.pipeline.gpu_hour.noting import noting_errors
from allmlp.plan import model_facts
from allmlp.plan.device_types import RATES, StepTime
from allmlp.plan.portable import PLAN, parse_plan
from allmlp.spec.run import Run
from allmlp.training.environment import provenance

SCALES = ("gpu", "paper")
WARM_UP, STEPS, STARTS, SIZES = 2, 9, 3, 5
ENOUGH = 3  # sizes that say what the bytes cost, and how far a prediction is off
RUNS = Path("results/tables/runs.csv")
KEPT, GPU = (Path(__file__).with_name(name) for name in ("steps.json", "gpu.json"))
SEEN = 1e-3  # of the seconds of some size: a part that is never more is none
LEAST_S = 1.0  # of a training that is counted: below, clocks and starts are most of it


# width, context, sequences: one is varied while the others stay
GRID = {
    "cuda": [
        (512, 512, 32),
        (64, 512, 32),
        (2048, 512, 32),
        (512, 128, 32),
        (512, 2048, 8),
        (1024, 512, 8),
        (256, 256, 8),
    ],
    "cpu": [(32, 32, 4), (64, 32, 4)],
}
BLOCKS = {"cuda": 4, "cpu": 1}
VOCABULARY, HEADS = {"cuda": 4096, "cpu": 64}, 8
SHAPE = {"vocabulary", "context", "d_model", "n_blocks"}
LAST = {"cuda": (64, 4096), "cpu": (16, 8)}  # context and sequences of those that predict the last token alone


class Size(NamedTuple):
    """A model and the batch of its step."""

    architecture: str
    hyperparameters: dict[str, Any]
    sequences: int
    precision: str

    @property
    def counts(self) -> model_facts.Counts:
        """Its weights, and the operations of a step."""
        return model_facts.counts(self.architecture, self.hyperparameters, self.sequences)

    def key(self, compiled: bool) -> str:
        """The same for the same step."""
        return paths.digest([*self, compiled], 16)


def all_sizes(device: str) -> list[Size]:
    """The grid, and sizes of planned runs: the largest of an architecture in the grid, all of another. The first of
    each architecture come first.
    """
    columns = {sizes[0].architecture: sizes for sizes in grid(device)}
    for name, runs in runs_by_size().items() if device == "cuda" else ():
        of_runs = [Size(name, run.hyperparameters, _sequences(run), run.precision) for run in runs]
        columns[name] = [*columns[name], of_runs[-1]] if name in columns else of_runs
    return [size for row in itertools.zip_longest(*columns.values()) for size in row if size]


def grid(device: str) -> list[list[Size]]:
    """The sizes of each architecture that is built of a vocabulary, a context, a width and a number of blocks."""
    found = []
    for name in models.REGISTRY:
        takes, predicts = models.hyperparameters(name), models.load(name).predicts
        needed = {key for key, default in takes.items() if default is inspect.Parameter.empty}
        if not takes.keys() >= SHAPE or not needed <= SHAPE | {"d_mlp", "n_heads"}:
            continue
        asked = {"n_heads": HEADS} if name != "masked-mixer" and "n_heads" in takes else {}
        sizes = []
        for width, context, sequences in GRID[device]:
            context, sequences = LAST[device] if predicts == "last" else (context, sequences)
            wide = {"d_mlp": 4 * width} if takes.get("d_mlp") is inspect.Parameter.empty else {}
            shape = {
                **wide,
                "vocabulary": VOCABULARY[device],
                "context": context,
                "d_model": width,
                "n_blocks": BLOCKS[device],
                **asked,
            }
            if not any(size.hyperparameters == shape for size in sizes):
                sizes.append(Size(name, shape, sequences, "bfloat16" if device == "cuda" else "float32"))
        found.append(sizes)
    return found


def planned_runs() -> list[Run]:
    """The runs of SCALES; where pydantic is not installed, those that a bundle brought."""
    try:
        from allmlp.plan.plan import load_plan
    except ImportError:
        return parse_plan(PLAN.read_text(encoding="utf-8")).known if PLAN.is_file() else []
    return [
        run
        for scale in SCALES
        for of_study in load_plan(changes={"scale": scale}).runs_by_scale.values()
        for runs in of_study.values()
        for run in runs
    ]


@cache
def runs_by_size() -> dict[str, list[Run]]:
    """architecture -> a run of each of up to SIZES sizes of its step, the smallest and the largest among them."""
    every, found = [run for run in planned_runs() if run.steps], {}
    for name in models.REGISTRY:
        by_size = {counted(run): run for run in every if run.architecture == name}
        sizes = sorted(by_size)
        places = sorted({round(place * (len(sizes) - 1) / (SIZES - 1)) for place in range(SIZES)}) if sizes else []
        found[name] = [by_size[sizes[place]] for place in places]
    return {name: runs for name, runs in found.items() if runs}


def _sequences(run: Run) -> int:
    return model_facts.batch(run.task, run.task_parameters).sequences


def counted(run: Run) -> int:
    """FLOPs of one of its steps."""
    return model_facts.counts(run.architecture, run.hyperparameters, _sequences(run)).flops


def update(size: Size, device: str, compiled: bool = False) -> Callable[[], None]:
    """One training step on random inputs."""
    torch.manual_seed(0)
    model = models.build(size.architecture, **size.hyperparameters).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    shape = (size.sequences, model.context)
    inputs = torch.randint(model.vocabulary, shape) if model.features is None else torch.randn(*shape, model.features)
    inputs, computed = inputs.to(device), torch.compile(model) if compiled else model

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=size.precision == "bfloat16"):
            logits = computed(inputs)
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
    from allmlp.plan.plan import load_plan

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


def timed(device: str, file: Path, compile_too: bool = False) -> None:
    """A point for each size into the file, which keeps those that it has of this device. Sizes that cannot be computed,
    as those beyond the memory, stand there with their error, and are not tried again. Of compiled steps only the first
    size of each architecture is timed.
    """
    hardware = provenance(device)["hardware"]
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if found.get("hardware") != hardware or "complete" not in found:
        found = {"hardware": hardware, "points": [], "not_timed": {}, "complete": []}

    def keep() -> None:
        paths.write_atomically(file, json.dumps(found, indent=1) + "\n")

    known = {point["key"] for point in found["points"]} | found["not_timed"].keys()
    for compiled in (False, True) if compile_too else (False,):
        for size in [sizes[0] for sizes in grid(device)] if compiled else all_sizes(device):
            if (key := size.key(compiled)) in known:
                continue
            with noting_errors(found["not_timed"], key, keep, device, size.architecture):
                found["points"].append(time_step(size, device, compiled))
        found["complete"] = sorted({*found["complete"], "compiled" if compiled else "plain"})
        keep()


def time_step(size: Size, device: str, compiled: bool) -> dict[str, Any]:
    """The point of one size."""
    parameters, flops = size.counts
    try:
        of_step = seconds(update(size, device, compiled))
    finally:
        torch.compiler.reset()
    rate, about = 1e-9 * flops / of_step, f"{size.architecture}{', compiled' * compiled}"
    print(f"{about:32} {1000 * of_step:9.2f} ms a step {rate:8.1f} GFLOP/s   {size.hyperparameters}", flush=True)
    point = dict(zip(POINT, (size.architecture, flops, parameters, of_step, 1), strict=True))
    return {**point, "compiled": compiled, "sequences": size.sequences, "key": size.key(compiled)}


def of_gpu(fit_only: bool = False) -> tuple[pd.DataFrame, str]:
    """The points of a GPU, timed here if there is one, else those that are kept; and its hardware."""
    if torch.cuda.is_available() and not fit_only:
        KEPT.unlink(missing_ok=True)
        timed("cuda", KEPT)
    kept, other = json.loads(KEPT.read_text(encoding="utf-8")), json.loads(GPU.read_text(encoding="utf-8"))["cuda"]
    points = pd.DataFrame([point for point in kept["points"] if not point.get("compiled")])[POINT]
    whole, hardware = recorded("cuda")
    if hardware == kept["hardware"]:
        points = pd.concat([points, whole], ignore_index=True)
    if other["hardware"] == kept["hardware"]:
        models_there = {
            name.partition(",")[0]: of for name, of in other["models"].items() if not name.endswith(", compiled")
        }
        rows = [(name, of["flops_per_step"], of["parameters"], of["step_s"], 1) for name, of in models_there.items()]
        points = pd.concat([points, pd.DataFrame(rows, columns=POINT)], ignore_index=True)
    return points[points["architecture"].isin(list(models.REGISTRY))], kept["hardware"]


POINT = ["architecture", "flops", "parameters", "seconds", "n"]


def recorded(device: str) -> tuple[pd.DataFrame, str]:
    """A point for each size of a step among the committed runs: the median of its runs. Also their hardware."""
    runs = pd.read_csv(RUNS)
    runs = runs[(runs["device"] == device) & (runs["seconds"] > LEAST_S) & (runs["steps_done"] > 0)]
    of_step = runs.assign(
        flops=(runs["counted_flops"] / runs["steps_done"]).round(), seconds=runs["seconds"] / runs["steps_done"]
    )
    by = ["architecture", "flops", "parameters", "threads"]
    points = of_step.groupby(by)["seconds"].agg(seconds="median", n="size").reset_index()
    return points[POINT], " and ".join(sorted(runs["hardware"].unique()))


def fit(points: pd.DataFrame, fastest: float, share: float = 0.0) -> StepTime:
    """The three numbers of one architecture. `fastest`: operations per second of the fastest step of this device.
    `share`: of step_s in the seconds of an architecture with one size.
    """
    flops, parameters, taken, counts = (points[name].to_numpy(dtype=float) for name in POINT[1:])
    sizes = len(np.unique(flops))
    if sizes == 1:
        of_step = float(np.median(taken))
        s_per_flop = max((1 - share) * of_step / flops[0], 1 / fastest)
        step_s = max(0.0, of_step - s_per_flop * flops[0])
        return StepTime(float(f"{step_s:.3g}"), float(f"{s_per_flop:.3g}"), 0.0, float(flops[0]))
    columns = np.column_stack([np.ones(len(flops)), flops, parameters])
    scale = columns.max(axis=0)  # of like size, for the solver
    weight = np.sqrt(counts) / taken  # of relative errors
    least, most = np.array([0, scale[1] / fastest, 0]), np.array([np.inf, np.inf, np.inf if sizes >= ENOUGH else 1e-30])
    found = lsq_linear(columns / scale * weight[:, None], np.sqrt(counts), (least, most)).x / scale
    seen = (columns * found / taken[:, None]).max(axis=0) > SEEN
    return StepTime(*(float(f"{one:.3g}") for one in np.where(seen, found, 0.0)), float(flops.max()))


def fit_all(points: pd.DataFrame) -> tuple[dict[str, StepTime], dict[str, float]]:
    """architecture -> its numbers; and the error at sizes that a fit has not seen: median and p90 of the ratio, and
    the runs or steps behind them. No error with less than ENOUGH sizes of each.
    """
    fastest = float((points["flops"] / points["seconds"]).max())
    found, ratios, counts = {}, [], []
    several = points.groupby("architecture").filter(lambda of: of["flops"].nunique() > 1)
    known = [fit(of, fastest) for _, of in several.groupby("architecture")]
    for name, of in points.groupby("architecture"):
        size = float(of["flops"].iloc[0])
        share = float(np.median([one.step_s / one.seconds(size, 0) for one in known])) if known else 0.0
        found[str(name)] = fit(of, fastest, share)
        for size in of["flops"].unique() if of["flops"].nunique() >= ENOUGH else ():
            other, left = fit(of[of["flops"] != size], fastest), of[of["flops"] == size]
            predicted = [other.seconds(*one) for one in left[["flops", "parameters"]].itertuples(index=False)]
            ratios += np.exp(np.abs(np.log(np.array(predicted) / left["seconds"]))).tolist()
            counts += left["n"].tolist()
    each = np.repeat(ratios, counts)
    if not len(each):
        return found, {}
    error = {"median": float(f"{np.median(each):.3g}"), "p90": float(f"{np.quantile(each, 0.9):.3g}")}
    return found, {**error, "points": len(each)}


def main() -> None:
    """Fit every architecture; with `--write` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--steps", type=Path, metavar="FILE")
    parser.add_argument("--compile", action="store_true", help="with --steps: compiled steps too")
    asked = parser.parse_args()
    device = asked.device
    torch.set_num_threads(1)
    if asked.steps:
        timed(device, asked.steps, asked.compile)
        return
    table = json.loads(RATES.read_text(encoding="utf-8")) if RATES.is_file() else {}
    if device == "cpu":
        table["start_s"] = float(f"{start():.3g}")
        print(f"a job starts in {table['start_s']} s")
    if not asked.start:
        points, hardware = recorded(device) if device == "cpu" else of_gpu(asked.fit)
        steps, error = fit_all(points)
        for name, of in steps.items():
            parts = (1e3 * of.step_s, 1e12 * of.s_per_flop, 1e9 * of.s_per_parameter)
            print(f"{name:32} {parts[0]:8.3g} ms + {parts[1]:8.3g} ps/FLOP + {parts[2]:8.3g} ns/parameter")
        print(f"predicted / measured at unseen sizes: {error or 'unknown, too few sizes'}")
        written = {name: of._asdict() for name, of in steps.items()}
        table[device] = {"hardware": hardware, "error": error, "steps": written}
    if asked.write:
        paths.write_atomically(RATES, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
