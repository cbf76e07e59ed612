"""How many trainings, behind a claim or in the whole report, have an origin that can be looked up in git's history.

`allmlp select` asks git, the last mile counts: see `allmlp.measurements.origins` for what a known origin is.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from allmlp.judging.selection import Content, SelectedMeasurement
from allmlp.measurements import origins, store
from allmlp.measurements.search_losses import COST


class OriginCount(NamedTuple):
    """`known` of so many `runs`; None where no history could be asked."""

    known: int | None
    runs: int


def known_origins(
    study: str, runs: Iterable[str], held: Mapping[str, SelectedMeasurement], repository: origins.Repository | None
) -> dict[str, Any]:
    """The selection's `known`: the places in `runs` of those with a known origin; nothing without a repository.

    held: run -> its measurement of `cost`, which has the record.
    """
    if repository is None:
        return {}
    stored = store.read_measure(study, COST)
    records = {run: str(stored.rows(one.key)["versions"][0].as_py() or "") for run, one in held.items()}
    known = {record for record in {*records.values()} if repository.has_sources(origins.read(record))}
    return {"known": {COST: [place for place, run in enumerate(runs) if records.get(run) in known]}}


def count(contents: Iterable[Content], runs: Iterable[str] | None = None) -> OriginCount:
    """Trainings of these scales, or only `runs` of them; each once, and only if something of it is measured."""
    trained: set[str] = set()
    known: set[str] | None = set()
    for content in contents:
        measured = {run for of in content["measurements"].values() for run in of}
        trained |= {run for run in measured if content["runs"][run]["steps"]}
        known = None if known is None or content.get("known") is None else known | content["known"]
    trained = trained if runs is None else trained.intersection(runs)
    return OriginCount(None if known is None else len(known & trained), len(trained))


def claim_origins(content: Content, runs: Iterable[str]) -> dict[str, Any]:
    """The field of a claim's entry in claims.json."""
    return {"origin": count([content], runs)._asdict()}


def report_origins(selected: Mapping[str, Any]) -> OriginCount:
    """That of every study, scale and recorded overlay together."""
    return count(at for scales in selected["studies"].values() for at in scales.values() if at["runs"])
