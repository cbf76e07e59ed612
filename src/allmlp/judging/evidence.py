"""Measurements of one study at one scale as tables: the input of verdicts, figures and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from allmlp.common.errors import UserError
from allmlp.common.paths import SELECTED
from allmlp.judging import selection
from allmlp.judging.complete_runs import Unit
from allmlp.judging.levelling import Level
from allmlp.judging.selection import Content, SelectedMeasurement
from allmlp.judging.unsuited import named
from allmlp.measurements import store
from allmlp.plan.merge import SCALES
from allmlp.spec import catalogue
from allmlp.spec.exhibits import Exhibit, Paper

SEARCH = "search"  # the label `part` of runs that only choose a rate


@dataclass
class Evidence:
    """The selected measurements of one study at one scale.

    `margin` and `paper` come from the claim being judged, and are empty elsewhere. `recorded`: the overlay that the
    measurements belong to, empty for the plan's own. `extension`: set if the last complete set replaces a larger plan;
    how many runs of that plan are measured, and how many it has. `own`: are they a user's own?
    """

    study: str
    scale: str
    content: dict[str, Any]
    recorded: str = ""
    margin: dict[str, float] = field(default_factory=dict)
    paper: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    extension: tuple[int, int] | None = None
    own: bool = False
    levels: dict[str, Level] = field(init=False, repr=False)  # filled by allmlp.judging.training_levels
    _tables: dict[Any, pd.DataFrame] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Share what was made once with all evidence from the same content: many claims and figures ask for it."""
        self.levels = self.content.setdefault("levels", {})
        self._tables = self.content.setdefault("tables", {})

    def planned_runs(self, measure: str) -> list[str]:
        """The runs that should have this measurement."""
        return self.content["planned"].get(measure, [])

    def measured_runs(self, measure: str) -> list[str]:
        """The runs that have it."""
        return [run for run in self.planned_runs(measure) if run in self.content["measurements"].get(measure, {})]

    def is_complete(self, measures: list[str]) -> bool:
        """Is every planned run of these measures measured (and at least one planned)?"""
        return all(self.planned_runs(m) and len(self.measured_runs(m)) == len(self.planned_runs(m)) for m in measures)

    def seed_count(self, measure: str) -> int:
        """The number of training seeds behind a measure."""
        return len({self.content["runs"][run]["seed"] for run in self.measured_runs(measure)})

    def corpora(self, measures: Sequence[str]) -> list[str]:
        """The corpora of the runs behind these measures, as in `corpora_of`."""
        return self.corpora_of({run for measure in measures for run in self.measured_runs(measure)})

    def corpora_of(self, runs: Iterable[str]) -> list[str]:
        """The corpora of these runs, and of the weights that they begin from or read."""
        described = [self.content["runs"][run] for run in runs]
        return sorted({of.get(key) for of in described for key in ("corpus", "parent_corpus")} - {"", None})

    def trainings(self, measures: Sequence[str]) -> list[str]:
        """The trainings behind these measures, without runs that only choose a rate or embed."""
        common = {*catalogue.SHARED, *catalogue.FROM_LONG}
        of_own = {
            run for measure in self.content["planned"] if measure not in common for run in self.planned_runs(measure)
        }
        runs = {run for measure in measures for run in self.measured_runs(measure)} & of_own
        about = self.content["runs"]
        return sorted(run for run in runs if about[run]["steps"] > 0 and about[run]["labels"].get("part") != SEARCH)

    def operations(self, measures: Sequence[str]) -> float:
        """The budget behind these measures: the median of the counted operations of their trainings; 0 without any."""
        runs = set(self.trainings(measures)) & set(self.measured_runs("cost"))
        if not runs:
            return 0.0
        cost = self.table("cost")
        return float(cost.loc[cost["run"].isin(runs), "counted_flops"].median())

    def depends_on_training(self, measure: str) -> bool:
        """Does the measure depend on training? If not, it is taken once, for any number of seeds."""
        return any(self.content["runs"][run]["steps"] > 0 for run in self.measured_runs(measure))

    def select_parts(self, parts: Sequence[str], also: Sequence[str] = ()) -> "Evidence | None":
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

    def complete_set(self, unit: Unit) -> "Evidence | None":
        """The runs that are judged or drawn: all that the plan has of a unit or, if some are missing, the last complete
        set.

        None where there is neither.
        """
        of_parts = self.select_parts(unit.parts, unit.also)
        if of_parts is None or of_parts.is_complete(list(unit.measures)):
            return of_parts
        standing: dict[str, list[str]] = self.content.get("standing", {}).get(unit.key)
        if standing is None:
            return None
        asked = {run: [m for m in unit.measures if run in of_parts.planned_runs(m)] for run in self.content["runs"]}
        done = [run for run, of in asked.items() if of and all(run in of_parts.measured_runs(m) for m in of)]
        of_set = {run for runs in standing.values() for run in runs}
        others = {m: [run for run in runs if run in of_set] for m, runs in of_parts.content["planned"].items()}
        content = {**self.content, "planned": {**others, **standing}}
        return replace(self, content=content, extension=(len(done), sum(map(bool, asked.values()))))

    def claim_set(self, claim: Mapping[str, Any]) -> "Evidence | None":
        """The complete set of a claim: of its trainings those with seeds from `first_seed` of its margin on, if there
        are such, because its rule was written with the results of the earlier ones known."""
        found, first = self.complete_set(Unit.from_claim(claim)), (claim.get("margin") or {}).get("first_seed")
        if found is None or first is None:
            return found
        late = {run for run, about in self.content["runs"].items() if not about["steps"] or about["seed"] >= first}
        planned = {measure: [run for run in runs if run in late] for measure, runs in found.content["planned"].items()}
        return replace(found, content={**found.content, "planned": planned}) if planned[claim["measures"][0]] else found

    def measurements_by_run(self, measure: str) -> dict[str, SelectedMeasurement]:
        """run -> its measurement in the store."""
        return {run: self.content["measurements"][measure][run] for run in self.measured_runs(measure)}

    def table(self, measure: str) -> pd.DataFrame:
        """All rows of a measure, with the labels of their runs as columns."""
        held = self.measurements_by_run(measure)
        if (key := (measure, *held.items())) not in self._tables:
            self._tables[key] = self._add_labels(measure, held) if held else pd.DataFrame()
        return self._tables[key].copy(deep=False)  # pandas copies what is written to

    def _add_labels(self, measure: str, held: dict[str, SelectedMeasurement]) -> pd.DataFrame:
        rows, counts = self.rows(measure)
        labels = pd.DataFrame([self.content["runs"][run]["labels"] for run in held])
        repeated = labels.loc[np.repeat(np.arange(len(held)), counts)].reset_index(drop=True)
        return pd.concat([rows, repeated[[name for name in labels if name not in rows]]], axis=1)

    def has_comparison(self, exhibit: Exhibit) -> bool:
        """Do its runs have two values of each label that the exhibit compares?"""
        runs = {run for measure in exhibit.measures for run in self.measured_runs(measure)}
        labels = [self.content["runs"][run]["labels"] for run in runs]
        return all(len({of_run.get(name) for of_run in labels}) > 1 for name in exhibit.compares)

    def rows(self, measure: str) -> tuple[pd.DataFrame, list[int]]:
        """All rows of a measure, run after run, and how many each run has. At least one run must have the measure."""
        held, stored = self.measurements_by_run(measure), _read_selected(self.study, measure, self.content)
        rows = stored.table(one.key for one in held.values()).to_pandas(use_threads=False)
        counts = [stored.count(one.key) for one in held.values()]
        return rows.assign(run=np.repeat(list(held), counts)), counts

    def make_exhibit(self, exhibit: Exhibit) -> Any:
        """A figure or a table of these measurements. UnsuitedError if it fails on them."""
        tables = {measure: self.table(measure) for measure in exhibit.measures}
        with named(f"{self.study}: {exhibit.name} cannot be made of what is measured at {self.scale}"):
            return exhibit(**tables, paper=exhibit_numbers(self.study, exhibit))


def _read_selected(study: str, measure: str, content: Content) -> store.StoredMeasurements:
    """The stored measurements of a measure. UserError if they are not those that were selected."""
    stored, held = store.read_measure(study, measure), content["measurements"][measure].values()
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


def evidence_by_scale(study: str, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """scale -> evidence, for a study's planned scales, the smallest first."""
    content = content or selection.read()
    scales, own = content["studies"].get(study, {}), "overlays" in content
    return {scale: Evidence(study, scale, scales[scale], own=own) for scale in SCALES if scale in scales}


def evidence_by_overlay(study: str, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """name -> evidence of each recorded overlay with measurements of a study."""
    content = content or selection.read()
    found = content["studies"].get(study, {})
    return {
        name: Evidence(study, scale, found[name], name, own="overlays" in content)
        for name, scale in content.get("recorded", {}).items()
        if name in found and found[name]["measurements"]
    }


def sources(study: str, exhibit: Exhibit, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """name suffix -> the evidence of a figure or table: "" for the plan's own (`largest_evidence`), "-<overlay>" for
    recorded ones. A diagram shows a model and no measurement: its evidence is empty."""
    if not exhibit.measures:
        return {"": Evidence(study, "", {"planned": {}, "measurements": {}, "runs": {}})}
    content = content or selection.read()
    own = largest_evidence(study, exhibit, content)
    found = {"": own} if own is not None else {}
    for name, other in evidence_by_overlay(study, content).items():
        of_parts = other.complete_set(Unit.from_exhibit(exhibit))
        if of_parts is not None and of_parts.has_comparison(exhibit):
            found[f"-{name}"] = of_parts
    return found


def largest_evidence(study: str, exhibit: Exhibit, content: dict[str, Any] | None = None) -> Evidence | None:
    """The evidence of a figure or table: of the scales whose runs all have its measures, the one whose trainings have
    the largest budget, and of equal ones the last.

    Its runs are those of the plan, or the last complete set while the plan is being extended. An exhibit of some parts
    of a study gets the runs of these parts (and of `also`). A scale without one of its parts is passed over, and one
    that has nothing to compare if another has.
    """
    unit, scales = Unit.from_exhibit(exhibit), reversed(evidence_by_scale(study, content).values())
    complete = [found for found in (one.complete_set(unit) for one in scales) if found is not None]
    complete = [found for found in complete if found.has_comparison(exhibit)] or complete
    return max(complete, key=lambda found: found.operations(exhibit.measures), default=None)


def printed_numbers(study: str) -> Paper:
    """The numbers that the paper prints, from the claims."""
    return {claim["id"]: claim.get("paper") or {} for claim in catalogue.ledger(study)}


def exhibit_numbers(study: str, exhibit: Exhibit) -> Paper:
    """Those of a figure or table: of the claims that its decorator names, so that a new claim makes no other again."""
    return _Numbers({claim: of for claim, of in printed_numbers(study).items() if claim in exhibit.claims})


class _Numbers(dict[str, Mapping[str, float]]):
    """UserError for a claim that an exhibit reads and does not name."""

    def __missing__(self, claim: str) -> NoReturn:
        raise UserError(f"paper[{claim!r}]: the figure or table that reads it must name that claim in its decorator.")
