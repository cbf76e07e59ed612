"""A plan as plain values, which a bundle brings to a machine without pydantic.

work/plan.json    the open runs in their order, the runs that they need, hours and claims
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.plan.batches import is_unmeasured, runs_to_train
from allmlp.spec.run import Run, link_runs

PLAN = Path("work/plan.json")
FORMAT = formats.FORMATS["plan"]
TUPLES = ("measures", "keep", "search", "tested")
WAY_OUT = "Unpack a bundle that this version of the code has packed."


class RunPlan(Protocol):
    """The runs of one scale: a `Plan` of parameters, or the `ResolvedPlan` of a bundle."""

    @property
    def scale(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def runs(self) -> list[Run]: ...
    @property
    def releases(self) -> bool: ...


def describe_run(run: Run) -> dict[str, Any]:
    """A run as plain values, its id among them."""
    names = [field.name for field in fields(run) if field.name != "relatives"]
    return {"id": run.id, **{name: getattr(run, name) for name in names}}


def _run(values: Mapping[str, Any]) -> Run:
    """The run of plain values. UserError if this code gives it another id, and so other results."""
    given = {key: value for key, value in values.items() if key != "id"}
    kept: dict[str, Any] = {key: tuple(value) if key in TUPLES else value for key, value in given.items()}
    try:
        run = Run(**kept)
    except TypeError as error:
        raise UserError(f"{PLAN}: {values.get('id')} cannot be read by this version ({error}). {WAY_OUT}") from error
    if run.id != values["id"]:
        raise UserError(f"{PLAN}: {values['id']} is {run.id} by the code that is here: recipes differ. {WAY_OUT}")
    return run


@dataclass(frozen=True)
class ResolvedPlan:
    """The open runs of a scale, in order, with the data of schedulers and tables."""

    scale: str
    known: list[Run]  # to be done, or needed by those
    order: list[str]
    hours: Mapping[str, float]  # of a whole run
    claims: Mapping[str, frozenset[str]]
    arguments: str = ""
    releases: bool = False  # what a bundle's machine has made goes back as a bundle

    @cached_property
    def _run_by_id(self) -> dict[str, Run]:
        return {run.id: run for run in self.known}

    @property
    def runs(self) -> list[Run]:
        """The runs to be done, in order."""
        return [self._run_by_id[run] for run in self.order]

    def run(self, run_id: str) -> Run:
        """A run by its id."""
        if run_id not in self._run_by_id:
            raise UserError(
                f"no run {run_id!r} in {PLAN}. It is not open, or the bundle is of another scale. "
                "`python -m allmlp advance` lists what is open."
            )
        return self._run_by_id[run_id]

    def untrained_runs(self) -> set[str]:
        """The runs without weights."""
        return runs_to_train(self.known, filter(is_unmeasured, self.runs))

    def open_runs(self) -> list[Run]:
        """The runs to be trained or measured, in order."""
        untrained = self.untrained_runs()
        return [run for run in self.runs if run.id in untrained or is_unmeasured(run)]

    def to_json(self) -> str:
        """As JSON: the open runs and the runs that they need."""
        wanted = [run.id for run in self.open_runs()]
        needed, waiting = set(wanted), list(wanted)
        while waiting:
            waiting += (new := set(self._run_by_id[waiting.pop()].needs) - needed)
            needed |= new
        content = {
            "format": FORMAT,
            "scale": self.scale,
            "order": wanted,
            "runs": [describe_run(run) for run in self.known if run.id in needed],
            "hours": {run: self.hours[run] for run in sorted(needed & self.hours.keys())},
            "claims": {claim: sorted(of & needed) for claim, of in self.claims.items() if of & needed},
        }
        return json.dumps(content, indent=1) + "\n"


def parse_plan(text: str) -> ResolvedPlan:
    """The plan from `to_json`. UserError for other content."""
    try:
        content = formats.parse_json(text)
        formats.check_format("plan", PLAN, content)
        if content["format"] != FORMAT:
            raise UserError(f"{PLAN}: is of format {content['format']}, this code reads {FORMAT}. {WAY_OUT}")
        runs = {values["id"]: _run(values) for values in content["runs"]}
        claims = {claim: frozenset(of) for claim, of in content["claims"].items()}
        if lacking := set(content["order"]) - runs.keys():
            raise KeyError(min(lacking))
        known = link_runs(runs, str(PLAN))
        return ResolvedPlan(content["scale"], known, content["order"], content["hours"], claims)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{PLAN}: is damaged ({error!r}). {WAY_OUT}") from error


def read_bundle_plan(scale: str | None = None, overlays: Sequence[Path] | None = None) -> ResolvedPlan:
    """The plan that a bundle brought here."""
    if not PLAN.is_file():
        raise UserError(
            "pydantic is not installed here, and no bundle was unpacked: parameters cannot be read. "
            "`pip install -e .[workflow]`, or `allmlp unpack FILE`."
        )
    found = parse_plan(PLAN.read_text(encoding="utf-8"))
    if overlays or scale not in (None, found.scale):
        raise UserError(
            f"{PLAN} holds scale {found.scale}; without pydantic there is no other, and no --params. "
            "Leave the option out, or `pip install -e .[workflow]`."
        )
    return found
