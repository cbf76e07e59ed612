"""`allmlp plan`: a row per study with runs done, runs open and their cost; with `--runs` a row per run."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from allmlp.common.terminal import align_columns, format_si
from allmlp.plan import budgeting, forecast, priorities, status
from allmlp.plan.costs import costs
from allmlp.plan.params import SCALES
from allmlp.plan.plan import Plan
from allmlp.spec import catalogue

DEVICES = (1, 4, 8)
NOTE = "hours: of one core or device. disk: checkpoints. claims: complete, of those that this scale can decide."
HEADS = ("study", "runs", "done", "open", "hours", "disk", "claims")
DONE = ("measured", "not needed")
OF_RUNS = ("run", "state", "parameters", "steps", "supervised tokens", "6ND FLOPs", "counted FLOPs", "disk", "about")


def show(
    plan: Plan,
    runs: bool,
    format: str,
    devices: Sequence[int] = DEVICES,
    price: float | None = None,
    on: str | None = None,
    budget: float | None = None,
    room: float = math.inf,
    only_open: bool = False,
) -> None:
    """Print the plan as a table of studies or of `runs`, or as JSON for machines. `only_open`: of runs to be trained or
    measured.

    `devices`: how many work at a time. `price`: of an hour of one. `on`: the type whose hours the studies' rows have.
    `budget`: hours of one, to show the claims that these decide, in place of the tables. `room`: bytes on the disk that
    trainings under way may take together.
    """
    kind = forecast.choose_device_type(plan, on)
    records = costs(plan, kind)
    shown = [record for record in records if not only_open or record["state"] not in DONE]
    if runs and format != "json":
        print("\n".join(align_columns([OF_RUNS, *map(_run_row, shown)], left=2)))
        return
    resolved = status.resolve(plan, {record["run"]: record["estimated_s"] / 3600 for record in records})
    if budget is not None and format != "json":
        print("\n".join(budgeting.lines(resolved, budget, kind)))
        return
    found = [_study_counts(plan, study, records) for study in dict.fromkeys(run.study for run in plan.runs)]
    launches = forecast.launches(plan, {one["run"]: one for one in records}, resolved.order, devices, kind, room)
    if format == "json":
        of_plan = {"scale": plan.scale, "plan": plan.digest(), "studies": found, "runs": shown}
        bought = {} if budget is None else {"budget": budgeting.buy_open_runs(resolved, budget).as_json()}
        print(json.dumps(of_plan | {"devices": [one.as_json(price) for one in launches]} | bought, indent=1))
    else:
        print("\n".join([f"scale {plan.scale}", *align_columns([HEADS, *map(_row, _add_sum(found))], left=1), NOTE]))
        print(
            "".join(f"{line}\n" for line in (*_missing_tokens(plan), *forecast.lines(launches, plan.releases, price))),
            end="",
        )


def _add_sum(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The studies' counts, and their sum if there are several."""
    keys = [key for key in found[0] if key != "study"] if len(found) > 1 else []
    return [*found, {"study": "all", **{key: sum(study[key] for study in found) for key in keys}}] if keys else found


def _missing_tokens(plan: Plan) -> Iterator[str]:
    """A line on missing tokens of open runs."""
    opened = [run for batch in plan.batches.values() for run in (*batch.to_train, *batch.to_measure)]
    tokens = sorted({run.tokens for run in opened if run.tokens and not Path("results/tokens", run.tokens).is_dir()})
    if tokens:
        yield f"tokens that open runs need, made first: {', '.join(tokens)}"


def _study_counts(plan: Plan, study: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of one study's row."""
    runs = [run for run in plan.runs if run.study == study]
    training = {run.id for batch in plan.batches_to_train for run in batch.to_train}
    opened = training | {run.id for batch in plan.batches_to_measure for run in batch.to_measure}
    opened &= {run.id for run in runs}
    trained = training & opened
    costs_of = {record["run"]: record for record in records if record["run"] in trained}
    hours = {run: record["estimated_s"] / 3600 for run, record in costs_of.items()}
    claims = priorities.deciding_runs(catalogue.ledger(study), runs, SCALES, plan.scale)
    return {
        "study": study,
        "runs": len(runs),
        "done": len(runs) - len(opened),
        "open": len(opened),
        "hours": sum(status.remaining_hours(run, hours) for run in runs),
        "disk_bytes": sum(record["disk_bytes"] for record in costs_of.values()),
        "claims": len(claims),
        "claims_complete": sum(not of & opened for of in claims.values()),
    }


def _row(study: dict[str, Any]) -> Iterable[str]:
    counts = (f"{study[key]:,}" for key in ("runs", "done", "open"))
    claims = f"{study['claims_complete']} of {study['claims']}"
    return (study["study"], *counts, f"{study['hours']:,.1f}", f"{format_si(study['disk_bytes'])}B", claims)


def _run_row(record: dict[str, Any]) -> Iterable[str]:
    numbers = ("parameters", "supervised_tokens", "six_nd_flops", "counted_flops", "disk_bytes")
    parameters, supervised, six, counted, disk = (format_si(record[key]) for key in numbers)
    first = (record["run"], record["state"], parameters, str(record["steps"]))
    return (*first, supervised, six, counted, f"{disk}B", f"{record['estimated_s']:.0f} s")
