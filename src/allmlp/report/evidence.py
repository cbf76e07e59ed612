"""Measurements of one study at one scale as tables: the input of verdicts, figures and tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from allmlp import store, studies
from allmlp.errors import UserError
from allmlp.layered import SCALES
from allmlp.report import selection
from allmlp.report.exhibits import Exhibit, Paper
from allmlp.report.selection import SELECTED, Content, Held
from allmlp.report.sets import Unit
from allmlp.studies.levelling import Level


@dataclass
class Evidence:
    """The selected measurements of one study at one scale.

    `margin` and `paper` come from the claim being judged, and are empty elsewhere. `recorded`: the overlay that the
    measurements belong to, empty for the plan's own. `extension`: set if the last complete set replaces a larger plan;
    how many runs of that plan are measured, and how many it has.
    """

    study: str
    scale: str
    content: dict[str, Any]
    recorded: str = ""
    margin: dict[str, float] = field(default_factory=dict)
    paper: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    extension: tuple[int, int] | None = None
    levels: dict[str, Level] = field(init=False, repr=False)  # filled by allmlp.report.levels
    _tables: dict[Any, pd.DataFrame] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Share what was made once with all evidence from the same content: many claims and figures ask for it."""
        self.levels = self.content.setdefault("levels", {})
        self._tables = self.content.setdefault("tables", {})

    def planned(self, measure: str) -> list[str]:
        """The runs that should have this measurement."""
        return self.content["planned"].get(measure, [])

    def measured(self, measure: str) -> list[str]:
        """The runs that have it."""
        return [run for run in self.planned(measure) if run in self.content["measurements"].get(measure, {})]

    def complete(self, measures: list[str]) -> bool:
        """Is every planned run of these measures measured (and at least one planned)?"""
        return all(self.planned(m) and len(self.measured(m)) == len(self.planned(m)) for m in measures)

    def seeds_of(self, measure: str) -> int:
        """The number of training seeds behind a measure."""
        return len({self.content["runs"][run]["seed"] for run in self.measured(measure)})

    def corpora(self, measures: Sequence[str]) -> list[str]:
        """The corpora of the runs behind these measures."""
        runs = {run for measure in measures for run in self.measured(measure)}
        return sorted({self.content["runs"][run]["corpus"] for run in runs} - {"", None})

    def trainings(self, measures: Sequence[str]) -> list[str]:
        """The trainings behind these measures, without runs that only choose a rate or embed."""
        common = {*studies.SHARED, *studies.FROM_LONG}
        of_own = {run for measure in self.content["planned"] if measure not in common for run in self.planned(measure)}
        runs = {run for measure in measures for run in self.measured(measure)} & of_own
        return sorted(run for run in runs if self.content["runs"][run]["steps"] > 0)

    def operations(self, measures: Sequence[str]) -> float:
        """The budget behind these measures: the median of the counted operations of their trainings; 0 without any."""
        runs = set(self.trainings(measures)) & set(self.measured("cost"))
        if not runs:
            return 0.0
        cost = self.table("cost")
        return float(cost.loc[cost["run"].isin(runs), "counted_flops"].median())

    def trained(self, measure: str) -> bool:
        """Does the measure depend on training? If not, it is taken once, for any number of seeds."""
        return any(self.content["runs"][run]["steps"] > 0 for run in self.measured(measure))

    def of_parts(self, parts: Sequence[str], also: Sequence[str] = ()) -> "Evidence | None":
        """Only the runs of these parts of the study (a label), and of the parts `also` where they are planned.

        No parts: all runs. None where one of `parts` is not planned.
        """
        if not parts:
            return self
        labelled = {run: about["labels"].get("part") for run, about in self.content["runs"].items()}
        if set(parts) - set(labelled.values()):
            return None
        planned = {
            measure: [run for run in runs if labelled.get(run) in (*parts, *also)]
            for measure, runs in self.content["planned"].items()
        }
        return replace(self, content={**self.content, "planned": planned})

    def whole_set(self, unit: Unit) -> "Evidence | None":
        """The runs that are judged or drawn: all that the plan has of a unit or, if some are missing, the last complete
        set.

        None where there is neither.
        """
        of_parts = self.of_parts(unit.parts, unit.also)
        if of_parts is None or of_parts.complete(list(unit.measures)):
            return of_parts
        standing: dict[str, list[str]] = self.content.get("standing", {}).get(unit.key)
        if standing is None:
            return None
        asked = {run: [m for m in unit.measures if run in of_parts.planned(m)] for run in self.content["runs"]}
        done = [run for run, of in asked.items() if of and all(run in of_parts.measured(m) for m in of)]
        of_set = {run for runs in standing.values() for run in runs}
        others = {m: [run for run in runs if run in of_set] for m, runs in of_parts.content["planned"].items()}
        content = {**self.content, "planned": {**others, **standing}}
        return replace(self, content=content, extension=(len(done), sum(map(bool, asked.values()))))

    def held(self, measure: str) -> dict[str, Held]:
        """run -> its measurement in the store."""
        return {run: self.content["measurements"][measure][run] for run in self.measured(measure)}

    def table(self, measure: str) -> pd.DataFrame:
        """All rows of a measure, with the labels of their runs as columns."""
        held = self.held(measure)
        if (key := (measure, *held.items())) not in self._tables:
            self._tables[key] = self._with_labels(measure, held) if held else pd.DataFrame()
        return self._tables[key].copy(deep=False)  # pandas copies what is written to

    def _with_labels(self, measure: str, held: dict[str, Held]) -> pd.DataFrame:
        rows, counts = self.rows(measure)
        labels = pd.DataFrame([self.content["runs"][run]["labels"] for run in held])
        repeated = labels.loc[np.repeat(np.arange(len(held)), counts)].reset_index(drop=True)
        return pd.concat([rows, repeated[[name for name in labels if name not in rows]]], axis=1)

    def rows(self, measure: str) -> tuple[pd.DataFrame, list[int]]:
        """All rows of a measure, run after run, and how many each run has. At least one run must have the measure."""
        held, stored = self.held(measure), _checked(self.study, measure, self.content)
        rows = stored.table(one.key for one in held.values()).to_pandas(use_threads=False)
        counts = [stored.count(one.key) for one in held.values()]
        return rows.assign(run=np.repeat(list(held), counts)), counts

    def shown(self, exhibit: Exhibit) -> Any:
        """A figure or a table of these measurements."""
        return exhibit(**{measure: self.table(measure) for measure in exhibit.measures}, paper=printed(self.study))


def _checked(study: str, measure: str, content: Content) -> store.Stored:
    """The stored measurements of a measure. UserError if they are not those that were selected."""
    stored, held = store.of(study, measure), content["measurements"][measure].values()
    if any(one.key not in stored.places for one in held) or (
        stored.digest(one.key for one in held) != content["digests"][measure]
    ):
        raise UserError(
            f"{store.STORE / study / measure}: its rows are not those that {SELECTED} names. Run `allmlp select`, or "
            f"`git checkout {store.STORE / study / measure} {SELECTED}`."
        )
    return stored


def extension(found: Evidence) -> dict[str, Any]:
    """How far a larger plan is, for claims, figures and tables made from the last complete set."""
    return {"extension": dict(zip(("measured", "planned"), found.extension, strict=True))} if found.extension else {}


def by_scale(study: str, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """scale -> evidence, for a study's planned scales, the smallest first."""
    scales = (content or selection.read())["studies"].get(study, {})
    return {scale: Evidence(study, scale, scales[scale]) for scale in SCALES if scale in scales}


def by_overlay(study: str, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """name -> evidence of each recorded overlay with measurements of a study."""
    content = content or selection.read()
    found = content["studies"].get(study, {})
    return {
        name: Evidence(study, scale, found[name], name)
        for name, scale in content.get("recorded", {}).items()
        if name in found and found[name]["measurements"]
    }


def sources(study: str, exhibit: Exhibit, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """name suffix -> the evidence of a figure or table: "" for the plan's own (`largest`), "-<overlay>" for recorded
    ones. A diagram shows a model and no measurement: its evidence is empty."""
    if not exhibit.measures:
        return {"": Evidence(study, "", {"planned": {}, "measurements": {}, "runs": {}})}
    content = content or selection.read()
    own = largest(study, exhibit, content)
    found = {"": own} if own is not None else {}
    for name, other in by_overlay(study, content).items():
        if (of_parts := other.whole_set(Unit.of_exhibit(exhibit))) is not None:
            found[f"-{name}"] = of_parts
    return found


def largest(study: str, exhibit: Exhibit, content: dict[str, Any] | None = None) -> Evidence | None:
    """The evidence of a figure or table: of the scales whose runs all have its measures, the one whose trainings have
    the largest budget, and of equal ones the last.

    Its runs are those of the plan, or the last complete set while the plan is being extended. An exhibit of some parts
    of a study gets the runs of these parts (and of `also`). A scale without one of its parts is passed over.
    """
    unit, scales = Unit.of_exhibit(exhibit), reversed(by_scale(study, content).values())
    complete = [found for found in (one.whole_set(unit) for one in scales) if found is not None]
    return max(complete, key=lambda found: found.operations(exhibit.measures), default=None)


def printed(study: str) -> Paper:
    """The numbers that the paper prints, from the claims."""
    return {claim["id"]: claim.get("paper") or {} for claim in studies.ledger(study)}
