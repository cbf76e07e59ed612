"""The claims that some hours decide: open runs in their order, most claims per hour first, until these are spent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import Any

from allmlp.common.errors import UserError
from allmlp.plan import priorities, status
from allmlp.plan.device_types import DeviceType
from allmlp.plan.portable import ResolvedPlan
from allmlp.plan.priorities import OpenRun

WIDTH = 116


@dataclass(frozen=True)
class BudgetedRuns:
    """The runs that end within a budget. `next_hours`: of the first one that does not, None if all do.

    `had`, `decided`: claims with all their runs before, and also after. `missing`: claim -> the hours that it still
    needs, the least first.
    """

    runs: tuple[str, ...]
    hours: float
    next_hours: float | None
    had: tuple[str, ...]
    decided: tuple[str, ...]
    missing: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "runs": self.runs,
            "hours": self.hours,
            "claims_before": self.had,
            "claims_decided": self.decided,
            "claims_open_hours": self.missing,
        }


def parse_hours(text: str) -> float:
    """100h or 100 -> 100.0. UserError for anything else.

    >>> parse_hours("1.5h")
    1.5
    """
    try:
        hours = float(text.removesuffix("h"))
    except ValueError:
        hours = -1
    if not 0 <= hours < float("inf"):
        raise UserError(f"--budget {text}: is not a number of hours. Write it as 100h.")
    return hours


def buy(
    order: Sequence[str], opened: Mapping[str, OpenRun], claims: Mapping[str, frozenset[str]], hours: float
) -> BudgetedRuns:
    """The first of the open runs in `order` that end within so many hours.

    `claims`: claim -> the runs that decide it; those that are not open are done.
    """
    spent, bought, after = 0.0, dict[str, None](), None
    for run in (run for run in order if run in opened):
        if spent + opened[run].hours > hours:
            after = opened[run].hours
            break
        spent += opened[run].hours
        bought[run] = None
    needed = {claim: priorities.add_dependencies(opened, of) for claim, of in claims.items()}
    missing = {claim: sum(opened[run].hours for run in sorted(of - bought.keys())) for claim, of in needed.items()}
    left = sorted((claim for claim, of in needed.items() if of - bought.keys()), key=lambda claim: missing[claim])
    return BudgetedRuns(
        tuple(bought),
        spent,
        after,
        tuple(claim for claim, of in needed.items() if not of),
        tuple(claim for claim, of in needed.items() if of and claim not in left),
        {claim: missing[claim] for claim in left},
    )


def buy_open_runs(plan: ResolvedPlan, hours: float) -> BudgetedRuns:
    """The same for the open runs of a plan."""
    return buy(plan.order, status.open_runs(plan.runs, plan.hours), plan.claims, hours)


def lines(plan: ResolvedPlan, hours: float, on: DeviceType) -> Iterator[str]:
    """The budget for the terminal."""
    found, opened = buy_open_runs(plan, hours), len(plan.open_runs())
    beyond = "" if found.next_hours is None else f"; the next one takes {found.next_hours:,.1f} h"
    yield f"scale {plan.scale}, {hours:,g} hours of one {on.name} ({on.said})"
    yield f"runs, in the order of `allmlp advance`: {len(found.runs):,} of {opened:,}, {found.hours:,.1f} h{beyond}"
    if (team := max((run.processes for run in plan.runs if run.id in found.runs), default=1)) > 1:
        yield f"the largest of them needs {team} devices at once (`processes`); an hour of each of them counts"
    yield f"claims with all their runs before: {len(found.had)} of {len(plan.claims)}"
    yield f"claims that these runs decide: {len(found.decided)}"
    yield from _claim_lines("", found.decided)
    yield f"claims that stay open, beside the hours that each needs more: {len(found.missing)}"
    for more, of in groupby(found.missing, key=lambda claim: f"{found.missing[claim]:,.1f}"):
        yield from _claim_lines(more, of)


def _claim_lines(label: str, claims: Iterable[str]) -> list[str]:
    """Claims in lines of the terminal's width, beside a label."""
    first = f"{label:>9}  "
    return wrap(" ".join(claims), WIDTH, initial_indent=first, subsequent_indent=" " * 11, break_on_hyphens=False)
