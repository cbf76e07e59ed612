"""The last complete set of runs of each claim and exhibit: results/sets.json, written by `allmlp select`.

A set is complete if every planned run of it is measured, so that nobody can stop at a favourable moment. While a larger
plan is under way, the last complete set is judged and drawn in its place, as long as the plan holds all of its runs. It
grows with the next complete plan, and shrinks only if the plan drops some of its runs.

The file names runs by their settings. A raised RECIPE renames runs, but leaves their sets valid.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.spec import catalogue, exhibits
from allmlp.spec.exhibits import Exhibit
from allmlp.spec.run import Run

SETS = Path("results/sets.json")
WAY_OUT = f"`git checkout {SETS}`, or delete it and run `allmlp select`."
Runs = dict[str, list[str]]  # measure -> runs


class Unit(NamedTuple):
    """A claim or exhibit: it needs these measures of the runs of these parts of a study (none: of all)."""

    measures: tuple[str, ...]
    parts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in results/sets.json."""
        words = ["+".join(self.measures), *(["of", "+".join(self.parts)] if self.parts else [])]
        return " ".join([*words, *(["and", "+".join(self.also)] if self.also else [])])

    @classmethod
    def from_claim(cls, claim: Mapping[str, Any]) -> "Unit":
        """Of a claim."""
        return cls(tuple(claim["measures"]), tuple(claim.get("runs") or ()))

    @classmethod
    def from_exhibit(cls, exhibit: Exhibit) -> "Unit":
        """Of a figure or table."""
        return cls(exhibit.measures, tuple(exhibit.parts), tuple(exhibit.also))


def units(study: str) -> Iterator[Unit]:
    """A unit for each claim, figure and table of a study."""
    yield from (Unit.from_claim(claim) for claim in catalogue.ledger(study) if claim["test"])
    of_kinds = (exhibits.study_exhibits(study, "figures"), exhibits.study_exhibits(study, "tables"))
    yield from (Unit.from_exhibit(one) for of_kind in of_kinds for one in of_kind.values() if one.measures)


def settings_name(run: Run) -> str:
    """A run's name by its settings: the same under every recipe.

    An untrained run may be named after the code that it describes, as `abilities` is. Its part stands for that name.
    """
    name = run.name if run.steps else run.labels.get("part", run.name)
    return f"{name}-seed{run.seed}-{run.settings_digest}"


@dataclass
class Sets:
    """results/sets.json: study -> scale or overlay -> unit -> measure -> runs, by their lasting names."""

    complete: dict[str, dict[str, dict[str, Runs]]] = field(default_factory=dict)

    @classmethod
    def read(cls) -> "Sets":
        """The content of the file; empty without one."""
        if not SETS.is_file():
            return cls()
        content = formats.read("sets", SETS, WAY_OUT)
        try:
            lists = content["sets"]
            return cls(
                {
                    study: {
                        scale: {key: {m: lists[digest] for m, digest in of.items()} for key, of in of_scale.items()}
                        for scale, of_scale in scales.items()
                    }
                    for study, scales in content["complete"].items()
                }
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{SETS}: is damaged ({error!r}). {WAY_OUT}") from error

    def write(self) -> None:
        """Write each list of runs once, under its digest: most measures of a scale share their runs."""
        lists: dict[str, list[str]] = {}

        def named(runs: list[str]) -> str:
            digest = paths.digest(runs, 12)
            lists[digest] = runs
            return digest

        complete = {
            study: {
                scale: {key: {m: named(runs) for m, runs in of.items()} for key, of in sorted(of_scale.items())}
                for scale, of_scale in scales.items()
            }
            for study, scales in self.complete.items()
        }
        paths.write_atomically(SETS, paths.json_lines({"complete": complete, "sets": lists}))

    def keep_units(self, study: str, keys: set[str]) -> None:
        """Drop the units of a study that no longer exist."""
        for of_scale in self.complete.get(study, {}).values():
            for key in of_scale.keys() - keys:
                del of_scale[key]

    def take(self, study: str, scale: str, unit: Unit, planned: Runs, measured: Runs, names: dict[str, str]) -> "Stand":
        """Record a set that is complete in the plan; else return its replacement. `names`: run -> lasting name."""
        of_scale = self.complete.setdefault(study, {}).setdefault(scale, {})
        if all(planned[m] and set(planned[m]) == set(measured[m]) for m in unit.measures):
            of_scale[unit.key] = {m: sorted(names[run] for run in planned[m]) for m in unit.measures}
            return Stand()
        recorded = of_scale.get(unit.key, {})
        runs = {m: {names[run]: run for run in planned[m]} for m in unit.measures}
        if gone := sorted({name for m, of in recorded.items() for name in of if name not in runs[m]}):
            return Stand(dropped=tuple(gone))
        standing = {m: [runs[m][name] for name in of] for m, of in recorded.items()}
        return Stand(standing if standing and all(set(of) <= set(measured[m]) for m, of in standing.items()) else None)


class Stand(NamedTuple):
    """The replacement of an incomplete set: an earlier complete one, or why that does not count."""

    runs: Runs | None = None
    dropped: tuple[str, ...] = ()  # runs of the recorded set that the plan no longer has
