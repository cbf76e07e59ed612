"""The files of figures and tables, and the index of those of a study.

A file is made only if its digest changed: that of its rows, its code, the style and the numbers that it prints. Where
results lie in the user's own folder, a file that the project has with the same digest is taken over: most studies are
not touched there, and their figures would come out with the same bytes.
"""

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths, recipes
from allmlp.common.atomic import copy_atomically
from allmlp.common.errors import UserError
from allmlp.judging import evidence
from allmlp.judging.evidence import Evidence
from allmlp.measurements import store
from allmlp.spec.exhibits import Exhibit

INDEX = "index.json"
DIGITS = 16  # of digests


def describe(exhibit: Exhibit, found: Evidence, writer: str) -> dict[str, Any]:
    """Its entry in the index. `writer`: the module that writes its file."""
    return {
        **exhibit.description(),
        "scale": found.scale,
        "recorded": found.recorded,
        "corpora": found.corpora(exhibit.measures),
        "seeds": found.seed_count(exhibit.measures[0]) if exhibit.measures else 0,
        "digest": _digest(exhibit, found, writer),
        **evidence.extension(found),
    }


def _digest(exhibit: Exhibit, found: Evidence, writer: str) -> str:
    """A digest of all that the bytes of its file depend on."""
    rows = {
        measure: store.read_measure(found.study, measure).digest(
            one.key for one in found.measurements_by_run(measure).values()
        )
        for measure in exhibit.measures
    }
    labels = {
        run: found.content["runs"][run]["labels"]
        for measure in exhibit.measures
        for run in found.measured_runs(measure)
    }
    code = [*map(recipes.fingerprint, (exhibit.make.__module__, writer)), version("matplotlib")]
    numbers = evidence.exhibit_numbers(found.study, exhibit) if exhibit.reads_paper else {}
    return paths.digest([rows, labels, code, numbers], DIGITS)


def is_current(file: Path, digest: str) -> bool:
    """Is a file there with this digest, undamaged? The project's is taken over if it is."""
    for place in (file, paths.project() / file):
        about = _read_index(place.parent).get(file.stem, {})
        if about.get("digest") == digest and place.is_file() and about.get("bytes") == _byte_digest(place):
            if not file.exists() or not file.samefile(place):
                copy_atomically(place, file)
                shutil.copystat(place, file)  # its time: it was not drawn now
            return True
    return False


def _read_index(folder: Path) -> dict[str, Any]:
    """The index of a folder; empty where it is missing or damaged, so that everything is made again."""
    try:
        found = formats.read("exhibits", folder / INDEX)
    except formats.NewerError:
        raise
    except UserError:
        return {}
    return found if isinstance(found, dict) else {}


def _byte_digest(file: Path) -> str:
    return paths.file_sha256(file)[:DIGITS]


def write_index(folder: Path, suffix: str, index: dict[str, dict[str, Any]]) -> set[Path]:
    """Write the index of the files in a folder, and remove every other file. Returns the files that stay."""
    files = {name: folder / f"{name}{suffix}" for name in index}
    for path in {*folder.glob("*")} - {folder / INDEX, *files.values()}:
        path.unlink()
    entries = {name: {**about, "bytes": _byte_digest(files[name])} for name, about in index.items()}
    paths.write_atomically(folder / INDEX, json.dumps(entries, indent=1) + "\n")
    return {folder / INDEX, *files.values()}
