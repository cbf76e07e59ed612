"""The five papers' studies, one folder each, in the order of their numbers, and the crossover of all.

A study's folder holds `claims.yaml`, `errata.yaml`, `runs` (its settings and its runs), `measures/` (a file each),
`figures`, `tables` and `verdicts` (functions in one file, or in the files of a folder). All of these are found
automatically. A new paper is a new folder and one name in STUDIES.
"""

import importlib
import re
from collections.abc import Callable
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
    "crossover": "all",  # not a paper: every architecture on every task
}
FOLDER = Path(__file__).parent
SHARED = ("cost",)  # measures of every run, see shared/
FROM_LONG = ("levelled",)  # measures of every training at the scale `long` and above; the plan adds them


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


@cache
def measure_module(study: str, name: str) -> str:
    """The module of a measure: the study's own, or one that all studies share."""
    own = _folder(study) / "measures" / f"{name}.py"
    return f"allmlp.studies.{study}.measures.{name}" if own.is_file() else f"allmlp.studies.shared.{name}"


def measure(study: str, name: str) -> ModuleType:
    """A measure of a study: RECIPE, COLUMNS and `measure(trained)`, or `measure()` if it needs no run."""
    return importlib.import_module(measure_module(study, name))


def measures(study: str) -> list[str]:
    """The measures of a study: one per file of that folder."""
    return sorted(path.stem for path in (_folder(study) / "measures").glob("*.py") if path.stem != "__init__")


def files(study: str, kind: str) -> dict[str, Path]:
    """module -> file of a study's figures, tables or verdicts: one file, or those of a folder."""
    single, name = _folder(study) / f"{kind}.py", f"allmlp.studies.{study}.{kind}"
    if single.is_file():
        return {name: single}
    files = sorted((_folder(study) / kind).glob("*.py"))
    return {f"{name}.{path.stem}": path for path in files if path.stem != "__init__"}


def verdict_module(study: str, test: str) -> str:
    """The module of a study's verdicts that defines a claim's test. UserError unless exactly one does."""
    defines = re.compile(rf"^def {test}\(", re.MULTILINE)
    found = [dotted for dotted, path in files(study, "verdicts").items() if defines.search(path.read_text("utf-8"))]
    if len(found) != 1:
        where = "none" if not found else " and ".join(found)
        raise UserError(
            f"{_folder(study) / 'claims.yaml'}: test: {test} must be a function of one module of the study's verdicts. "
            f"It is one of {where}."
        )
    return found[0]


def verdict(study: str, test: str) -> Callable[..., Any]:
    """The function that judges a claim, by the name that the claim gives as its `test`."""
    found: Callable[..., Any] = getattr(importlib.import_module(verdict_module(study, test)), test)
    return found


def about(study: str) -> dict[str, Any]:
    """Title, authors and short story of the paper (`about.yaml`)."""
    return yamlfile.plain((_folder(study) / "about.yaml").read_text(encoding="utf-8"))


def ledger(study: str, kind: str = "claims") -> list[dict[str, Any]]:
    """The rows of a study's claims.yaml or errata.yaml."""
    return deepcopy(_parsed((_folder(study) / f"{kind}.yaml").read_text(encoding="utf-8")))


@cache
def _parsed(text: str) -> Any:
    """Cached: every figure reads its ledger, and parsing takes a fifth of a second."""
    return yamlfile.plain(text)


def is_own(claim: str) -> bool:
    """Is it the id of a claim of this project, such as 003-own-1, and not of a paper?"""
    return "-own-" in claim
