"""The runs of a scale that are done, under way and next, with the claims that each decides and its hours."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from allmlp.common.terminal import align_columns
from allmlp.measurements.search_losses import runs_it_reads
from allmlp.plan import priorities
from allmlp.plan.batches import is_unmeasured, runs_to_train
from allmlp.plan.portable import ResolvedPlan, RunPlan
from allmlp.plan.priorities import OpenRun
from allmlp.spec import catalogue
from allmlp.spec.run import Run

SHOWN = 8  # of the next runs
NAMED = 4  # claims of a run


def last_saved_step(run: Run) -> int | None:
    """The last saved step of a training; None where none has begun."""
    return last_step(Path("work/runs") / run.id)


def last_step(folder: Path) -> int | None:
    """The last saved step in the folder of a begun run."""
    files = folder.glob("state-*.json") if os.path.isdir(folder) else ()
    return max((int(path.stem.removeprefix("state-")) for path in files), default=None)


def remaining_hours(run: Run, hours: Mapping[str, float]) -> float:
    """The hours of a run after its last saved state."""
    return hours[run.id] * remaining_share(run) if run.id in hours else 0.0


def remaining_share(run: Run) -> float:
    """The share of its steps after its last saved state."""
    return 1 - (last_saved_step(run) or 0) / max(1, run.steps)


def resolve(plan: RunPlan, hours: Mapping[str, float] | None = None) -> ResolvedPlan:
    """The runs of a plan's scale, in order: most claims decided per hour first. `hours`: of each run, if known."""
    if isinstance(plan, ResolvedPlan):
        return plan
    from allmlp.plan import costs
    from allmlp.plan.params import SCALES

    hours = costs.hours(plan.runs) if hours is None else hours
    claims: dict[str, frozenset[str]] = {}
    for study in dict.fromkeys(run.study for run in plan.runs):
        of_study = [run for run in plan.runs if run.study == study]
        claims |= priorities.deciding_runs(catalogue.ledger(study), of_study, SCALES, plan.scale)
    opened = open_runs(plan.runs, hours)
    first = priorities.order(opened, claims)
    rest = [run.id for run in plan.runs if run.id not in opened]
    return ResolvedPlan(plan.scale, plan.runs, first + rest, hours, claims, plan.arguments, plan.releases)


def open_runs(runs: Sequence[Run], hours: Mapping[str, float]) -> dict[str, OpenRun]:
    """The runs to be trained or measured, with the hours that are left and the runs that must come before."""
    lacking = [run for run in runs if is_unmeasured(run)]
    untrained = runs_to_train(runs, lacking)
    wanted = untrained.union(run.id for run in lacking)
    return {
        run.id: OpenRun(
            remaining_hours(run, hours) if run.id in untrained else 0.0,
            run.seed,
            runs_it_reads(run) if run.id in untrained else ((run.parent,) if run.parent else ()),
        )
        for run in runs
        if run.id in wanted
    }


def _claims(run: Run, claims: Mapping[str, frozenset[str]]) -> str:
    of = [claim for claim, runs in claims.items() if run.id in runs]
    return ", ".join(of[:NAMED]) + (f" and {len(of) - NAMED} more" if len(of) > NAMED else "")


def _rows(plan: ResolvedPlan) -> list[tuple[str, str, str, str]]:
    """(state, run, hours, claims): under way first, then the next ones, in order."""
    untrained, rows, later = plan.untrained_runs(), [], []
    for run in plan.open_runs():
        step = last_saved_step(run)
        left = f"{remaining_hours(run, plan.hours):.2f} h"
        if run.id not in untrained:
            rows.append(("to be measured", run.id, "", _claims(run, plan.claims)))
        elif step:
            rows.append((f"step {step} of {run.steps}", run.id, left, _claims(run, plan.claims)))
        else:
            later.append(("next", run.id, left, _claims(run, plan.claims)))
    return rows + later[:SHOWN]


def summary(plan: ResolvedPlan) -> str:
    """One line: runs done, hours left, claims with all their runs done."""
    opened, untrained = plan.open_runs(), plan.untrained_runs()
    ids = {run.id for run in opened}
    hours = sum(remaining_hours(run, plan.hours) for run in opened if run.id in untrained)
    decided = sum(not of & ids for of in plan.claims.values())
    return (
        f"scale {plan.scale}: {len(plan.runs) - len(opened)} of {len(plan.runs)} runs done, "
        f"about {hours:.1f} hours of one core or device left; "
        f"{decided} of {len(plan.claims)} claims have all their runs"
    )


def show(plan: ResolvedPlan) -> None:
    """Print the table and its summary."""
    rows = _rows(plan)
    for line in align_columns([("state", "run", "about", "claims"), *rows], left=4) if rows else []:
        print(line)
    if (more := len(plan.open_runs()) - len(rows)) > 0:
        print(f"and {more} more")
    print(summary(plan), flush=True)
