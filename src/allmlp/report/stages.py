"""results/stages.json: a digest of the code behind each stage of the last mile, for DVC.

A stage reruns if its code changed: the modules that it imports, directly or not, and those of the studies that it finds
by name. The digests ignore docstrings, comments and layout.
"""

import json
from pathlib import Path
from typing import Any

from allmlp import labels, paths, recipes, studies
from allmlp.report.evidence import printed

STAGES = Path("results/stages.json")


def digests() -> dict[str, Any]:
    """stage -> digest; of `draw`, study -> digest."""
    claims = {study: studies.ledger(study) for study in studies.STUDIES}
    sizes = {study: studies.paper_sizes(study) for study in studies.STUDIES}
    words = {
        study: [studies.about(study), studies.ledger(study, "errata"), studies.inventory(study)]
        for study in studies.STUDIES
    }
    numbers = {study: printed(study) for study in studies.STUDIES}
    measures = [studies.measure_module(study, name) for study in studies.STUDIES for name in studies.measures(study)]
    return {
        "judge": _digest("judge", *_of_all("verdicts"), said=[claims, sizes, labels.known()]),
        "power": _digest("planned_power", said=claims),
        "tabulate": _digest("tabulate", *_of_all("tables"), said=[numbers, list(map(recipes.own_code, measures))]),
        "draw": {study: _digest("draw", *studies.files(study, "figures"), said=numbers[study]) for study in claims},
        "render": _digest("render", said=[claims, words, labels.known()]),
    }


def _of_all(kind: str) -> list[str]:
    return [module for study in studies.STUDIES for module in studies.files(study, kind)]


def _digest(stage: str, *modules: str, said: Any) -> str:
    """A digest of a module of allmlp.report, of further modules, and of other source files that the stage reads."""
    return paths.digest([recipes.fingerprint(f"allmlp.report.{stage}", *modules, blind=frozenset()), said], 16)


def write() -> None:
    """Write results/stages.json."""
    paths.write_whole(STAGES, json.dumps(digests(), indent=1) + "\n")
