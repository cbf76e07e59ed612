"""The five papers' studies, one folder each, in the order of their numbers, and the crossover of all.

A study's folder holds `runs` (its settings and its runs: a file or a folder), `measures/`, `figures/` and `tables/` (a
file each, found by being there), `claims.yaml`, `errata.yaml` and `verdicts`. A new paper is a new folder and one name
in STUDIES.
"""

import importlib
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from allmlp import yamlfile
from allmlp.errors import UserError

STUDIES = {
    "language": "000",
    "mixers": "001",
    "copying": "002",
    "quadrature": "003",
    "triangular": "004",
    "crossover": "all",  # no paper's: every architecture on every task
}
FOLDER = Path(__file__).parent
SHARED = ("cost",)  # measures taken of every run, see shared/
FROM_LONG = ("levelled",)  # and of every training at the scale `long` and above; the plan adds them


def _folder(study: str) -> Path:
    if study not in STUDIES:
        raise UserError(f"no study {study!r}. There are: {', '.join(STUDIES)}.")
    return FOLDER / study


def module(study: str, name: str) -> ModuleType:
    """A module of a study by its dotted name: `runs`, `verdicts`, `figures.phases`, ..."""
    return importlib.import_module(f"allmlp.studies.{study}.{name}")


def has_runs(study: str) -> bool:
    """Does the study train anything yet?"""
    return any((_folder(study) / name).is_file() for name in ("runs.py", "runs/__init__.py"))


def measure_module(study: str, name: str) -> str:
    """The module of a measure: the study's own, or one that all studies share."""
    own = _folder(study) / "measures" / f"{name}.py"
    return f"allmlp.studies.{study}.measures.{name}" if own.is_file() else f"allmlp.studies.shared.{name}"


def measure(study: str, name: str) -> ModuleType:
    """A measure of a study: RECIPE, COLUMNS and `measure(trained)`."""
    return importlib.import_module(measure_module(study, name))


def names(study: str, kind: str) -> list[str]:
    """The measures, figures or tables of a study: one per file of that folder."""
    return sorted(path.stem for path in (_folder(study) / kind).glob("*.py") if path.stem != "__init__")


def about(study: str) -> dict[str, Any]:
    """Title, authors and short story of the paper (`about.yaml`)."""
    return yamlfile.plain((_folder(study) / "about.yaml").read_text(encoding="utf-8"))


def ledger(study: str, kind: str = "claims") -> list[dict[str, Any]]:
    """The rows of a study's claims.yaml or errata.yaml."""
    return deepcopy(_parsed((_folder(study) / f"{kind}.yaml").read_text(encoding="utf-8")))


@cache
def _parsed(text: str) -> Any:
    """A ledger is asked for by every figure, and takes a fifth of a second to parse."""
    return yamlfile.plain(text)


def is_own(claim: str) -> bool:
    """Is a claim's id, such as 003-own-1, one of this project's own and not a paper's?"""
    return "-own-" in claim
