"""What each run of a plan costs, before anything runs."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from allmlp import known
from allmlp.batches import unmeasured
from allmlp.plan import Plan
from allmlp.run import Run

RATES = Path(__file__).with_name("rates.json")
NOMINAL_FLOPS = {"cpu": 1e10, "cuda": 5e13}  # operations per second of models that are not in rates.json


def costs(plan: Plan) -> list[dict[str, Any]]:
    """One record per run of the chosen scale."""
    untrained = {run.id for batch in plan.untrained for run in batch.runs}
    return [{"run": run.id, "study": run.study, "state": _state(run, untrained), **cost(run)} for run in plan.runs]


def cost(run: Run) -> dict[str, Any]:
    """Weights, tokens, operations, bytes of checkpoints and estimated seconds of one run."""
    sequences, supervised = known.batch(run.task, run.task_parameters)
    parameters, of_step = known.counts(run.architecture, run.hyperparameters, sequences)
    counted = of_step * run.steps
    rate = _seconds_per_flop().get((run.architecture, run.device), 1 / NOMINAL_FLOPS[run.device])
    return {
        "parameters": parameters,
        "steps": run.steps,
        "supervised_tokens": supervised * run.steps,
        "six_nd_flops": 6 * parameters * supervised * run.steps,  # C = 6 N D (000 Sec. 3)
        "counted_flops": counted,
        "disk_bytes": 4 * parameters * (len(run.keep) + 1),
        "estimated_s": round(counted * rate, 1),
        "device": run.device,
    }


def hours(runs: Iterable[Run]) -> dict[str, float]:
    """run -> estimated hours of its training."""
    return {run.id: cost(run)["estimated_s"] / 3600 for run in runs}


def _state(run: Run, untrained: set[str]) -> str:
    """`untrained`: the runs to train, for a measurement or for another run."""
    if run.id in untrained:
        if Path(f"{run.folder}.dvc").is_file():
            return "kept: dvc pull"
        return "begun" if any((Path("work/runs") / run.id).glob("state-*.json")) else "to do"
    if run.measures and not unmeasured(run):
        return "measured"
    return "trained" if Path(run.checkpoint).is_file() else "not needed"


@cache
def _seconds_per_flop() -> dict[tuple[str, str], float]:
    """(architecture, device) -> seconds per counted FLOP, as benchmarks/rates.py measured it."""
    table = json.loads(RATES.read_text(encoding="utf-8"))
    rates = {device: of["seconds_per_flop"].items() for device, of in table.items()}
    return {(name, device): rate for device, of in rates.items() for name, rate in of}
