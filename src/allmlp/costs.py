"""`allmlp plan`: what would run and what it costs, before anything runs."""

import json
from pathlib import Path
from typing import Any

from allmlp import known, tasks
from allmlp.plan import Plan
from allmlp.run import Run

RATES = Path(__file__).with_name("rates.json")
NOMINAL_FLOPS = {"cpu": 1e10, "cuda": 5e13}  # per second, of what rates.json lacks


def _state(run: Run, untrained: set[str]) -> str:
    """`untrained`: the runs whose weights must be made, for a measurement or for another run."""
    if run.id in untrained:
        if Path(f"{run.folder}.dvc").is_file():
            return "kept: dvc pull"
        return "begun" if any((Path("work/runs") / run.id).glob("state-*.json")) else "to do"
    if run.measures and all(Path(file).is_file() for file in run.measurements.values()):
        return "measured"
    return "trained" if Path(run.checkpoint).is_file() else "not needed"


def _seconds_per_flop() -> dict[tuple[str, str], float]:
    """(architecture, device) -> seconds per counted FLOP, as benchmarks/rates.py measured it."""
    table = json.loads(RATES.read_text(encoding="utf-8"))
    return {
        (name, device): rate
        for device, of_device in table.items()
        for name, rate in of_device["seconds_per_flop"].items()
    }


def costs(plan: Plan) -> list[dict[str, Any]]:
    """One record per run of the chosen scale."""
    from allmlp.training.flops import six_nd

    rates, records = _seconds_per_flop(), []
    untrained = {run.id for batch in plan.untrained for run in batch.runs}
    for run in plan.runs:
        sequences, supervised = tasks.size(run.task, run.task_parameters)
        parameters, step = known.counts(run.architecture, run.hyperparameters, sequences)
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
