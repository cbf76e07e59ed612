"""`allmlp plan`: what would run and what it costs, before anything runs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from allmlp import measuring, models, paths, tasks
from allmlp.plan import Plan
from allmlp.run import Run

NOMINAL_FLOPS = {"cpu": 1e10, "cuda": 5e13}  # per second, where nothing like it was ever measured


@cache
def _counted(architecture: str, hyperparameters: str, sequences: int) -> tuple[int, int]:
    """(parameters, FLOPs of one step): computed without allocating the model."""
    import torch

    from allmlp.training import flops

    with torch.device("meta"):
        model = models.build(architecture, **json.loads(hyperparameters))
    return flops.parameters(model)["total"], flops.counted_flops(model, sequences)


def _state(run: Run, untrained: set[str]) -> str:
    """`untrained`: the runs whose weights must be made, for a measurement or for another run."""
    if run.id in untrained:
        if Path(f"{run.folder}.dvc").is_file():
            return "kept: dvc pull"
        return "begun" if any((Path("work/runs") / run.id).glob("state-*.json")) else "to do"
    if run.measures and all(Path(file).is_file() for file in run.measurements.values()):
        return "measured"
    return "trained" if Path(run.checkpoint).is_file() else "not needed"


def _seconds_per_flop(plan: Plan) -> dict[tuple[str, str], float]:
    """(architecture, device) -> seconds per counted FLOP, from the costs that were measured here or committed."""
    rates: dict[tuple[str, str], float] = {}
    for of_study in plan.by_scale.values():
        for run in (run for runs in of_study.values() for run in runs):
            file = Path(run.measurements.get("cost", ""))
            if file.is_file():
                row = measuring.read(file)[0].iloc[0]
                if row.seconds == row.seconds and row.counted_flops:
                    rates[run.architecture, run.device] = row.seconds / row.counted_flops
    return rates


def costs(plan: Plan) -> list[dict[str, Any]]:
    """One record per run of the chosen scale."""
    from allmlp.training.flops import six_nd

    rates, records = _seconds_per_flop(plan), []
    untrained = {run.id for batch in plan.untrained for run in batch.runs}
    for run in plan.runs:
        sequences, supervised = tasks.size(run.task, run.task_parameters)
        parameters, step = _counted(run.architecture, paths.canonical(run.hyperparameters), sequences)
        counted = step * run.steps
        records.append(
            {
                "run": run.id,
                "study": run.study,
                "state": _state(run, untrained),
                "parameters": parameters,
                "steps": run.steps,
                "supervised_tokens": supervised * run.steps,
                "six_nd_flops": six_nd(parameters, supervised * run.steps),
                "counted_flops": counted,
                "disk_bytes": 4 * parameters * (len(run.keep) + 1),
                "estimated_s": round(
                    counted * rates.get((run.architecture, run.device), 1 / NOMINAL_FLOPS[run.device]), 1
                ),
                "device": run.device,
            }
        )
    return records


def _short(number: float) -> str:
    for limit, suffix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.3g} {suffix}"
    return f"{number:g}"


def show(plan: Plan, format: str) -> None:
    """Print the plan as a table, or as JSON for machines."""
    records = costs(plan)
    if format == "json":
        print(json.dumps({"scale": plan.scale, "plan": plan.digest(), "runs": records}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"scale {plan.scale}: {len(records)} runs", box=None, header_style="bold", title_justify="left")
    heads = (
        "run",
        "state",
        "parameters",
        "steps",
        "supervised tokens",
        "6ND FLOPs",
        "counted FLOPs",
        "disk",
        "about",
    )
    for head in heads:
        table.add_column(head, justify="left" if head in ("run", "state") else "right", overflow="fold")
    for r in records:
        numbers = (
            r["parameters"],
            r["supervised_tokens"],
            r["six_nd_flops"],
            r["counted_flops"],
            r["disk_bytes"],
        )
        parameters, supervised, six, counted, disk = map(_short, numbers)
        table.add_row(
            r["run"],
            r["state"],
            parameters,
            str(r["steps"]),
            supervised,
            six,
            counted,
            f"{disk}B",
            f"{r['estimated_s']:.0f} s",
        )
    Console(width=None if Console().is_terminal else 180).print(table)
    waiting = {run.id for batch in (*plan.untrained, *plan.unmeasured) for run in batch.runs}
    todo = [record for record in records if record["run"] in waiting]
    minutes, disk = sum(r["estimated_s"] for r in todo) / 60, _short(sum(r["disk_bytes"] for r in todo))
    print(
        f"{len(todo)} of {len(records)} runs to do: {minutes:.0f} minutes of one core or device, {disk}B of checkpoints"
    )
    for tokens in sorted({run.tokens for run in plan.runs if run.tokens}):
        print(
            f"tokens {tokens}: {'there' if Path('results/tokens', tokens).is_dir() else 'made when a run needs them'}"
        )
