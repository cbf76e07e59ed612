"""`allmlp new`: a study or an architecture of one's own, as docs/paper.md and docs/architecture.md describe it.

The files beside this module are those of the study `averages`, 005, and of the architecture `running-average`. A new
one has its own name in place of these, and a line that registers it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.spec import catalogue

FILES = Path(__file__).parent
STUDY, ARCHITECTURE = re.compile(r"[a-z][a-z0-9_]*"), re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LAST_STUDY = '    "crossover": "all",'


def study(name: str) -> list[Path]:
    """Write a study's files and its settings, and enter its name into STUDIES. Returns what was written."""
    if not STUDY.fullmatch(name) or name in catalogue.STUDIES:
        raise UserError(f"{name!r}: a new study's name is one word of small letters, digits and _, and not yet there.")
    number = f"{1 + max(int(one) for one in catalogue.STUDIES.values() if one.isdigit()):03}"
    files = _rename(FILES / "study", {"averages": name, "005": number})
    return _write(files, "src/allmlp/spec/catalogue.py", LAST_STUDY, f'    "{name}": "{number}",\n{LAST_STUDY}')


def architecture(name: str) -> list[Path]:
    """Write an architecture's file, and enter its name into REGISTRY. Returns what was written."""
    if not ARCHITECTURE.fullmatch(name) or name in models.REGISTRY:
        raise UserError(f"{name!r}: a new architecture's name is words of small letters and -, and not yet there.")
    module, title = name.replace("-", "_"), "".join(word.capitalize() for word in name.split("-"))
    files = _rename(FILES / "architecture", {"running_average": module, "RunningAverage": title})
    last = f'    "{list(models.REGISTRY)[-1]}": "{list(models.REGISTRY.values())[-1]}",\n'
    line = f'    "{name}": "allmlp.models.{module}:{title}",\n'
    return _write(files, "src/allmlp/models/__init__.py", last, last + line)


def _rename(folder: Path, names: Mapping[str, str]) -> dict[Path, str]:
    """Place in the project -> text, of the example's files, with other names in both. They lie as in the project."""

    def renamed(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    files = sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".txt"})
    return {
        paths.project() / renamed(str(file.relative_to(folder)).removesuffix(".txt")): renamed(file.read_text("utf-8"))
        for file in files
    }


def _write(files: Mapping[Path, str], registry: str, old: str, new: str) -> list[Path]:
    """Write files that are not there yet, and replace a line of a registry once."""
    if there := [path for path in files if path.exists()]:
        raise UserError(f"{there[0]}: is there. Remove it, or take another name.")
    text = (place := paths.project() / registry).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise UserError(f"{place}: has not one line {old.strip()!r}. Enter the new name by hand.")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.write_atomically(path, content)
    paths.write_atomically(place, text.replace(old, new))
    return [*files, place]
