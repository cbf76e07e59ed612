"""`allmlp new`: a study or an architecture of one's own, as docs/paper.md and docs/architecture.md describe it.

The files beside this module are those of the study `averages`, 005, and of the architecture `running-average`. A new
one has its own name in place of these, and a line that registers it.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.pipeline import checking
from allmlp.plan.plan import load_plan
from allmlp.spec import catalogue

FILES = Path(__file__).parent
STUDY, ARCHITECTURE = re.compile(r"[a-z][a-z0-9_]*"), re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LAST_STUDY = '    "crossover": "all",'


def make(kind: str, name: str) -> int:
    """Write the files of a new study or architecture, and bring all in line with them. Returns the status of the check.

    UserError before anything is written if parameters or corpora cannot be read. Where the check fails, all is as
    before.
    """
    files = study(name) if kind == "study" else architecture(name)
    load_plan()
    before = {path: path.read_bytes() if path.is_file() else None for path in [*files, *checking.written()]}
    status = 2
    try:
        for path, content in files.items():
            paths.write_atomically(path, content)
        print("\n".join(str(file.relative_to(paths.project())) for file in files), flush=True)
        status = subprocess.run([sys.executable, "-m", "allmlp", "check", "--fix"], check=False).returncode
    finally:
        if status not in (0, 1):  # 1: something is the author's to decide
            _restore(before)
            print("nothing was written: the same call works once that is mended", file=sys.stderr)
    return status


def _restore(before: Mapping[Path, bytes | None]) -> None:
    for path, content in before.items():
        if content is not None:
            paths.write_atomically(path, content)
        else:
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if not folder.is_dir() or any(one.name != "__pycache__" for one in folder.iterdir()):
                    break
                shutil.rmtree(folder)


def study(name: str) -> dict[Path, str]:
    """A study's files and its settings, and STUDIES with its name: place -> text."""
    if not STUDY.fullmatch(name) or name in catalogue.STUDIES:
        raise UserError(f"{name!r}: a new study's name is one word of small letters, digits and _, and not yet there.")
    number = f"{1 + max(int(one) for one in catalogue.STUDIES.values() if one.isdigit()):03}"
    files = _rename(FILES / "study", {"averages": name, "005": number})
    return _register(files, "src/allmlp/spec/catalogue.py", LAST_STUDY, f'    "{name}": "{number}",\n{LAST_STUDY}')


def architecture(name: str) -> dict[Path, str]:
    """An architecture's file, and REGISTRY with its name: place -> text."""
    if not ARCHITECTURE.fullmatch(name) or name in models.REGISTRY:
        raise UserError(f"{name!r}: a new architecture's name is words of small letters and -, and not yet there.")
    module, title = name.replace("-", "_"), "".join(word.capitalize() for word in name.split("-"))
    files = _rename(FILES / "architecture", {"running_average": module, "RunningAverage": title})
    last = f'    "{list(models.REGISTRY)[-1]}": "{list(models.REGISTRY.values())[-1]}",\n'
    line = f'    "{name}": "allmlp.models.{module}:{title}",\n'
    return _register(files, "src/allmlp/models/__init__.py", last, last + line)


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


def _register(files: Mapping[Path, str], registry: str, old: str, new: str) -> dict[Path, str]:
    """Files that are not there yet, and a registry with one line replaced."""
    if there := [path for path in files if path.exists()]:
        raise UserError(f"{there[0]}: is there. Remove it, or take another name.")
    text = (place := paths.project() / registry).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise UserError(f"{place}: has not one line {old.strip()!r}. Enter the new name by hand.")
    return {**files, place: text.replace(old, new)}
