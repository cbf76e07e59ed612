"""What each run of a plan costs, before anything runs."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from allmlp.plan import device_types, model_facts
from allmlp.plan.batches import is_unmeasured
from allmlp.plan.device_types import DeviceType
from allmlp.plan.plan import Plan
from allmlp.spec.run import Run

BYTES, STATE_BYTES = 4, 12  # per parameter: weights in float32; with both moments of AdamW
STATES = 2  # of a training on the disk, also while the newest is written


def costs(plan: Plan, on: DeviceType | None = None) -> list[dict[str, Any]]:
    """One record per run of the chosen scale. `on`: the type of GPU, else the first one of the table."""
    untrained = {run.id for batch in plan.batches_to_train for run in batch.to_train}
    return [{"run": run.id, "study": run.study, "state": _state(run, untrained), **cost(run, on)} for run in plan.runs]


def cost(run: Run, on: DeviceType | None = None) -> dict[str, Any]:
    """Weights, tokens, operations, bytes of checkpoints and estimated seconds of one run."""
    (_, supervised), (parameters, of_step) = model_facts.step(run)
    counted = of_step * run.steps
    return {
        "parameters": parameters,
        "steps": run.steps,
        "supervised_tokens": supervised * run.steps,
        "six_nd_flops": 6 * parameters * supervised * run.steps,  # C = 6 N D (000 Sec. 3)
        "counted_flops": counted,
        "disk_bytes": parameters * BYTES * (len(run.keep) + 1),
        "estimated_s": round(seconds(run, run.steps, on), 3),
        "device": run.device,
    }


def seconds(run: Run, steps: float, on: DeviceType | None = None) -> float:
    """Estimated seconds of so many steps of a run, on a CPU or on this type of GPU."""
    _, (parameters, of_step) = model_facts.step(run)
    return steps * _kind(run, on).step_seconds(run.architecture, of_step, parameters)


def is_extrapolated(run: Run, on: DeviceType | None = None) -> bool:
    """Is a step far larger than all of its architecture that were measured?"""
    return _kind(run, on).is_extrapolated(run.architecture, model_facts.step(run)[1].flops)


def _kind(run: Run, on: DeviceType | None) -> DeviceType:
    return on if on and run.device == "cuda" else device_types.list_types(run.device)[0]


def hours(runs: Iterable[Run], on: DeviceType | None = None) -> dict[str, float]:
    """run -> estimated hours of its training."""
    return {run.id: cost(run, on)["estimated_s"] / 3600 for run in runs}


def disk(of: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Bytes on the disk while these runs are trained one after the other, at most, and when all have ended.

    `of`: their costs. All weights stay in work/ too until the last run is published.
    """
    working = published = 0.0
    for one in of:
        own = one["disk_bytes"] + max(STATES * STATE_BYTES * one["parameters"], one["disk_bytes"])
        working, published = max(working, 2 * published + own), published + one["disk_bytes"]
    return working, published


def disk_mb(runs: Iterable[Run]) -> int:
    """The same while they are trained, in MB, for a limit of Snakemake's."""
    return math.ceil(disk(map(cost, runs))[0] / 1e6)


def _state(run: Run, untrained: set[str]) -> str:
    """`untrained`: the runs to train, for a measurement or for another run."""
    if run.id in untrained:
        if Path(f"{run.folder}.dvc").is_file():
            return "kept: dvc pull"
        return "begun" if any((Path("work/runs") / run.id).glob("state-*.json")) else "to do"
    if run.measures and not is_unmeasured(run):
        return "measured"
    return "trained" if Path(run.checkpoint).is_file() else "not needed"
