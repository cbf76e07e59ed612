"""The five papers' studies, one folder each, in the order of their numbers, and the crossover of all.

A study's folder holds `claims.yaml`, `errata.yaml`, `inventory.yaml` (what the paper shows, and what shows it here),
`paper_sizes.yaml` (the models that the paper trained), `runs` (its settings and its runs), `measures`, `figures`,
`tables` and `verdicts` (functions in one file, or in the files of a folder). All of these are found
automatically. A new paper is a new folder and one name in STUDIES.
"""

import importlib
import re
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from allmlp.common import recipes, yaml_file
from allmlp.common.errors import UserError
from allmlp.spec import labels

if TYPE_CHECKING:  # a plan starts without pandas
    from allmlp.spec.measures import Measure

STUDIES = {
    "language": "000",
    "mixers": "001",
    "copying": "002",
    "quadrature": "003",
    "triangular": "004",
    "crossover": "all",  # not a paper: every architecture on every task
}
FOLDER = Path(__file__).parents[1] / "studies"
DEFINES = re.compile(r"^def ([a-z]\w*)\(", re.MULTILINE)
ABOUT = ("paper", "authors", "question", "slice")  # texts of about.yaml; `slice`: what is run here
FINDING = ("claim", "says", "judges", "open")  # of each of about.yaml's `headlines`,
FINDINGS_MORE = ("part", "at")  # and what one may have, too: see allmlp.report.headlines
PUBLISHED = ("where",)  # of each of about.yaml's `published`; or `link` too
EXPERIENCE = ("easy", "hard", "unknown")  # of about.yaml's `experience`: what was easy, hard, and cannot be known
RAN = ("parameters", "steps", "texts", "hours", "device")  # of about.yaml's `ran`: what the paper ran
OPTIONAL: dict[str, Any] = {"published": [], "says": "", "notes": "", "experience": {}, "ran": {}, "terms": {}}
SHARED = ("cost",)  # measures of every run, see shared/measures.py
FROM_LONG = ("levelled",)  # measures of every training at the scale `long` and above; the plan adds them


def _folder(study: str) -> Path:
    if study not in STUDIES:
        raise UserError(unknown_study_message(study, list(STUDIES)))
    return FOLDER / study


def unknown_study_message(study: str, known: list[str], kind: str = "") -> str:
    """What an error says of a name that is no study of a `kind`: the known ones, or where to add one with a folder."""
    if study not in STUDIES and any((FOLDER / study).glob("*.yaml")):
        return f"no study {study!r}, but a folder of that name: add it to STUDIES in src/allmlp/spec/catalogue.py."
    from allmlp.common.schema import suggest_nearest  # it imports pydantic, which a command's start does without

    return f"no study {study!r}{kind}. {suggest_nearest(study, known, 'There are')}"


def module(study: str, name: str) -> ModuleType:
    """A module of a study by its dotted name: `runs`, `verdicts`, `figures.sums`, ..."""
    return importlib.import_module(f"allmlp.studies.{study}.{name}")


class Page:
    """What the page has of a study beside its figures and tables, from its `page.py`; nothing where it has none."""

    def __init__(self, study: str) -> None:
        there = (_folder(study) / "page.py").is_file()
        self._found: dict[str, Any] = vars(module(study, "page")) if there else {}

    def enlarge(self, figure: str, corpora: dict[str, Any]) -> dict[str, Any]:
        """What a reader may open below a figure: name -> values for its template."""
        return dict(self._found["enlarge"](figure, corpora)) if "enlarge" in self._found else {}

    def lead(self, tables: list[dict[str, Any]]) -> dict[str, Any]:
        """Values for the study's own text."""
        return dict(self._found["lead"](tables)) if "lead" in self._found else {}


def has_runs(study: str) -> bool:
    """Does the study train anything yet?"""
    return any((_folder(study) / name).is_file() for name in ("runs.py", "runs/__init__.py"))


@cache
def _measures(study: str) -> dict[str, str]:
    """name -> `module:name` of a study's own measures, or of those that all studies share."""
    found = [name for dotted in files(study, "measures") for name in recipes.declared(dotted)]
    return {name.partition(":")[2]: name for name in sorted(found)}


def measure_source(study: str, name: str) -> str:
    """`module:name` of a measure: the study's own, or one that all studies share. UserError for an unknown one."""
    if (found := _measures(study).get(name) or _measures("shared").get(name)) is None:
        raise UserError(f"no measure {name!r} of {study}. There are: {', '.join(measures(study))}.")
    return found


def measure(study: str, name: str) -> "Measure":
    """A measure of a study."""
    found: Measure = getattr(importlib.import_module(measure_source(study, name).partition(":")[0]), name)
    return found


def measures(study: str) -> list[str]:
    """The names of a study's own measures."""
    return sorted(_measures(study))


def files(study: str, kind: str) -> dict[str, Path]:
    """module -> file of a study's measures, figures, tables or verdicts: one file, or those of a folder."""
    folder = FOLDER / study if study == "shared" else _folder(study)
    single, name = folder / f"{kind}.py", f"allmlp.studies.{study}.{kind}"
    if single.is_file():
        return {name: single}
    files = sorted((folder / kind).glob("*.py"))
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


def read_about(study: str) -> dict[str, Any]:
    """What a study's about.yaml says: ABOUT, `headlines` (a list of FINDING), and, empty where it says nothing,
    `published` (a list of PUBLISHED), `says` (what the paper claims, in a line), `notes`, `experience` (EXPERIENCE),
    `ran` (RAN) and `terms` (name -> what it means). UserError for what is missing or unknown.
    """
    path = _folder(study) / "about.yaml"
    found = yaml_file.parse_plain(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if lacking := [name for name in (*ABOUT, "headlines") if name not in found]:
        raise UserError(
            f"{_short_path(path)}: lacks {', '.join(lacking)}. It holds a text for each of {', '.join(ABOUT)}, and "
            "headlines."
        )
    if not isinstance(found["headlines"], list):
        raise UserError(f"{_short_path(path)}: headlines is a list of findings, each with {', '.join(FINDING)}.")
    for one in found["headlines"]:
        _refuse_other_keys(path, "each of headlines", one, FINDING, *FINDINGS_MORE)
    found = {**OPTIONAL, **{key: said for key, said in found.items() if said is not None}}
    for one in found["published"]:
        _refuse_other_keys(path, "each of published", one, PUBLISHED, "link")
    for key, asked in (("experience", EXPERIENCE), ("ran", RAN), ("terms", tuple(found["terms"]))):
        if found[key]:
            _refuse_other_keys(path, key, found[key], asked)
    return found


def _refuse_other_keys(path: Path, key: str, found: Any, asked: tuple[str, ...], *allowed: str) -> None:
    """UserError unless a mapping of about.yaml has a text for each of the `asked` keys, and no other but `allowed`."""
    given = found if isinstance(found, dict) else {}
    texts = {name for name, said in given.items() if isinstance(said, str)}
    if wrong := (set(asked) ^ (texts - set(allowed))) | (given.keys() - texts):
        raise UserError(
            f"{_short_path(path)}: {key} holds a text for each of {', '.join(asked)}. "
            f"Wrong: {', '.join(sorted(map(str, wrong)))}."
        )


def ledger(study: str, kind: str = "claims") -> list[dict[str, Any]]:
    """The rows of a study's claims.yaml, errata.yaml, inventory.yaml or paper_sizes.yaml.

    UserError for what has not the form of `allmlp.spec.claims_yaml`.
    """
    return deepcopy(_rows(study, kind))


def _rows(study: str, kind: str = "claims") -> list[dict[str, Any]]:
    """The same, shared by all who read and change nothing."""
    path = _folder(study) / f"{kind}.yaml"
    if not path.is_file():
        raise UserError(f"{_short_path(path)}: is missing. It holds a list, `[]` if there is nothing to list.")
    return _ledger(study, kind, path.read_text(encoding="utf-8"))


def inventory(study: str) -> list[dict[str, Any]]:
    """The paper's figures and tables, in its order, and those here that show the same; none for a study of no paper."""
    return ledger(study, "inventory") if (_folder(study) / "inventory.yaml").is_file() else []


def paper_sizes(study: str) -> dict[str, dict[str, Any]]:
    """Claim of the paper -> its row of paper_sizes.yaml: what it is about, and the paper's size.

    Empty without the file.
    UserError where the file lacks a claim of the paper, or has another.
    """
    path = _folder(study) / "paper_sizes.yaml"
    if not path.is_file():
        return {}
    found = {row["id"]: row for row in ledger(study, "paper_sizes")}
    claims = [row["id"] for row in _rows(study) if not is_project_claim(row["id"])]
    if lacking := [claim for claim in claims if claim not in found]:
        raise UserError(f"{_short_path(path)}: lacks {', '.join(lacking)}. It has a row for each claim of the paper.")
    if other := [claim for claim in found if claim not in claims]:
        raise UserError(f"{_short_path(path)}: has {', '.join(other)}, which claims.yaml has not.")
    return found


def _short_path(path: Path) -> str:
    """A file's path in errors: src/allmlp/studies/..."""
    return path.relative_to(FOLDER.parents[2]).as_posix()


@cache
def _ledger(study: str, kind: str, text: str) -> list[dict[str, Any]]:
    """Cached: every figure reads its ledger, and parsing takes a fifth of a second."""
    from allmlp.spec import claims_yaml  # imports pydantic, which a machine that only trains may lack

    file = _short_path(_folder(study) / f"{kind}.yaml")
    known = claims_yaml.KnownNames(STUDIES[study])
    if kind == "inventory":
        written = "\n".join(p.read_text("utf-8") for of in ("figures", "tables") for p in files(study, of).values())
        known = claims_yaml.KnownNames(STUDIES[study], exhibits=tuple(DEFINES.findall(written)))
    elif kind == "claims":
        own, errata = [*measures(study), *SHARED, *FROM_LONG], [row["id"] for row in ledger(study, "errata")]
        verdicts = "\n".join(path.read_text("utf-8") for path in files(study, "verdicts").values())
        known = claims_yaml.KnownNames(STUDIES[study], tuple(own), tuple(DEFINES.findall(verdicts)), tuple(errata))
    return claims_yaml.read(kind, text, file, known)


def check_ledgers() -> None:
    """UserError if a ledger, paper_sizes.yaml among them, has not its form, or a number no label."""
    for study in STUDIES:
        labels.check(ledger(study))  # reads the errata too, which claims name
        inventory(study)
        paper_sizes(study)


def claim_study(claim: str) -> str:
    """The study of a claim. UserError for an id that no study's claims.yaml has."""
    study = {number: study for study, number in STUDIES.items()}.get(claim.partition("-")[0])
    known = [row["id"] for row in ledger(study)] if study else []
    if study is None or claim not in known:
        there = f"They are {known[0]} to {known[-1]}" if known else "An id is one such as 002-5"
        raise UserError(f"{claim!r}: no claim of that name. {there}; the report lists them.")
    return study


def is_project_claim(claim: str) -> bool:
    """Is it the id of a claim of this project, such as 003-own-1, and not of a paper?"""
    return "-own-" in claim
