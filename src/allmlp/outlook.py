"""The runs of a scale that are done, under way and next, with the claims that each decides and its hours."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from allmlp import priorities, studies
from allmlp.aligning import aligned
from allmlp.batches import to_train, unmeasured
from allmlp.outcomes import read_by
from allmlp.priorities import OpenRun
from allmlp.resolved import Planned, ResolvedPlan
from allmlp.run import Run

SHOWN = 8  # of the next runs
NAMED = 4  # claims of a run


def step_of(run: Run) -> int | None:
    """The last saved step of a training; None where none has begun."""
    return last_step(Path("work/runs") / run.id)


def last_step(folder: Path) -> int | None:
    """The last saved step in the folder of a begun run."""
    files = folder.glob("state-*.json") if folder.is_dir() else ()
    return max((int(path.stem.removeprefix("state-")) for path in files), default=None)


def hours_left(run: Run, hours: Mapping[str, float]) -> float:
    """The hours of a run after its last saved state."""
    return hours[run.id] * share_left(run) if run.id in hours else 0.0


def share_left(run: Run) -> float:
    """The share of its steps after its last saved state."""
    return 1 - (step_of(run) or 0) / max(1, run.steps)


def resolve(plan: Planned, hours: Mapping[str, float] | None = None) -> ResolvedPlan:
    """The runs of a plan's scale, in order: most claims decided per hour first. `hours`: of each run, if known."""
    if isinstance(plan, ResolvedPlan):
        return plan
    from allmlp import costs
    from allmlp.params import SCALES

    hours = costs.hours(plan.runs) if hours is None else hours
    claims: dict[str, frozenset[str]] = {}
    for study in dict.fromkeys(run.study for run in plan.runs):
        of_study = [run for run in plan.runs if run.study == study]
        claims |= priorities.deciding(studies.ledger(study), of_study, SCALES, plan.scale)
    opened = open_runs(plan.runs, hours)
    first = priorities.order(opened, claims)
    rest = [run.id for run in plan.runs if run.id not in opened]
    return ResolvedPlan(plan.scale, plan.runs, first + rest, hours, claims, plan.arguments, plan.releases)


def open_runs(runs: Sequence[Run], hours: Mapping[str, float]) -> dict[str, OpenRun]:
    """The runs to be trained or measured, with the hours that are left and the runs that must come before."""
    lacking = [run for run in runs if unmeasured(run)]
    untrained = to_train(runs, lacking)
    wanted = untrained.union(run.id for run in lacking)
    return {
        run.id: OpenRun(
            hours_left(run, hours) if run.id in untrained else 0.0,
            run.seed,
            read_by(run) if run.id in untrained else ((run.parent,) if run.parent else ()),
        )
        for run in runs
        if run.id in wanted
    }


def _claims(run: Run, claims: Mapping[str, frozenset[str]]) -> str:
    of = [claim for claim, runs in claims.items() if run.id in runs]
    return ", ".join(of[:NAMED]) + (f" and {len(of) - NAMED} more" if len(of) > NAMED else "")


def _rows(plan: ResolvedPlan) -> list[tuple[str, str, str, str]]:
    """(state, run, hours, claims): under way first, then the next ones, in order."""
    untrained, rows, later = plan.untrained(), [], []
    for run in plan.open():
        step = step_of(run)
        left = f"{hours_left(run, plan.hours):.2f} h"
        if run.id not in untrained:
            rows.append(("to be measured", run.id, "", _claims(run, plan.claims)))
        elif step:
            rows.append((f"step {step} of {run.steps}", run.id, left, _claims(run, plan.claims)))
        else:
            later.append(("next", run.id, left, _claims(run, plan.claims)))
    return rows + later[:SHOWN]


def summary(plan: ResolvedPlan) -> str:
    """One line: runs done, hours left, claims with all their runs done."""
    opened, untrained = plan.open(), plan.untrained()
    ids = {run.id for run in opened}
    hours = sum(hours_left(run, plan.hours) for run in opened if run.id in untrained)
    decided = sum(not of & ids for of in plan.claims.values())
    return (
        f"scale {plan.scale}: {len(plan.runs) - len(opened)} of {len(plan.runs)} runs done, "
        f"about {hours:.1f} hours of one core or device left; "
        f"{decided} of {len(plan.claims)} claims have all their runs"
    )


def show(plan: ResolvedPlan) -> None:
    """Print the table and its summary."""
    rows = _rows(plan)
    for line in aligned([("state", "run", "about", "claims"), *rows], left=4) if rows else []:
        print(line)
    if (more := len(plan.open()) - len(rows)) > 0:
        print(f"and {more} more")
    print(summary(plan), flush=True)
