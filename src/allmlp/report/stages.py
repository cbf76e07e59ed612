"""results/stages.json: a digest of the code behind each stage of the last mile, for DVC.

A stage reruns if its code changed: the modules that it imports, directly or not, and those of the studies that it finds
by name. The digests ignore docstrings, comments and layout, but for the docstrings of figures and tables: their
captions.
"""

import ast
import json
from pathlib import Path
from typing import Any

from allmlp.common import paths, recipes
from allmlp.judging.evidence import printed_numbers
from allmlp.spec import catalogue, labels

STAGES = Path("results/stages.json")
README = "allmlp.report.readme"  # written with the page


def digests() -> dict[str, Any]:
    """stage -> digest; of `draw`, study -> digest."""
    claims = {study: catalogue.ledger(study) for study in catalogue.STUDIES}
    sizes = {study: catalogue.paper_sizes(study) for study in catalogue.STUDIES}
    words = {
        study: [catalogue.read_about(study), catalogue.ledger(study, "errata"), catalogue.inventory(study)]
        for study in catalogue.STUDIES
    }
    numbers = {study: {claim: of for claim, of in printed_numbers(study).items() if of} for study in catalogue.STUDIES}
    measures = [
        recipes.module_code(catalogue.measure_source(study, name))
        for study in catalogue.STUDIES
        for name in catalogue.measures(study)
    ]
    return {
        "judge": _digest("judging.judge", *_study_modules("verdicts"), said=[claims, sizes, labels.read_labels()]),
        "power": _digest("judging.planned_power", said=claims),
        "tabulate": _digest(
            "report.tabulate", *_study_modules("tables"), said=[numbers, measures, _captions("tables")]
        ),
        "draw": {
            study: _digest(
                "report.draw",
                *catalogue.files(study, "figures"),
                said=[numbers[study], _captions("figures", study)],
            )
            for study in claims
        },
        "metrics": _digest("report.metrics", said=[claims, labels.read_labels()]),
        "render": _digest("report.render", README, *_study_modules("page"), said=[claims, words, labels.read_labels()]),
    }


def _study_modules(kind: str) -> list[str]:
    return [module for study in catalogue.STUDIES for module in catalogue.files(study, kind)]


def _captions(kind: str, *studies: str) -> list[str | None]:
    """The docstrings of all functions in the modules of this kind."""
    return [
        ast.get_docstring(node)
        for study in studies or catalogue.STUDIES
        for path in catalogue.files(study, kind).values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def _digest(stage: str, *modules: str, said: Any) -> str:
    """A digest of a module of allmlp, of further modules, and of other source files that the stage reads."""
    return paths.digest([recipes.fingerprint(f"allmlp.{stage}", *modules, blind=frozenset()), said], 16)


def write() -> None:
    """Write results/stages.json."""
    paths.write_atomically(STAGES, json.dumps(digests(), indent=1) + "\n")
