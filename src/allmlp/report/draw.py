"""The figures of one study. Each is drawn only if its rows, its code or the style changed, with the same bytes each
time."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

from allmlp import artifacts, paths, recipes, store
from allmlp.keeping import locked, md5
from allmlp.report import evidence, exhibits, levels, saving, style
from allmlp.report.evidence import Evidence
from allmlp.report.exhibits import Exhibit
from allmlp.report.workers import Work

FIGURES, PNG, INDEX = Path("results/figures"), Path("work/figures"), "index.json"


def _digest(exhibit: Exhibit, found: Evidence) -> str:
    """A digest of all that a figure's bytes depend on: its rows, its code, how it is saved, the paper's numbers."""
    rows = {
        measure: store.of(found.study, measure).digest(one.key for one in found.held(measure).values())
        for measure in exhibit.measures
    }
    labels = {
        run: found.content["runs"][run]["labels"] for measure in exhibit.measures for run in found.measured(measure)
    }
    code = [recipes.fingerprint(exhibit.make.__module__), recipes.fingerprint(saving.__name__)]
    return paths.digest([rows, labels, code, matplotlib.__version__, evidence.printed(found.study)], 16)


def _runs(exhibit: Exhibit, found: Evidence) -> list[str]:
    return sorted({run for measure in exhibit.measures for run in found.measured(measure)})


def _entry(exhibit: Exhibit, found: Evidence) -> dict[str, Any]:
    return {
        **exhibit.about(),
        "scale": found.scale,
        "recorded": found.recorded,
        "runs": len(_runs(exhibit, found)),
        "corpora": found.corpora(exhibit.measures),
        "levelled": levels.of_measures(found, list(exhibit.measures)),
        "seeds": found.seeds_of(exhibit.measures[0]) if exhibit.measures else 0,
        "digest": _digest(exhibit, found),
        **evidence.extension(found),
    }


class Job(NamedTuple):
    """One file to be drawn: a figure of a study, by its name, from one of its `evidence.sources`."""

    study: str
    figure: str
    source: str
    file: Path

    def draw(self) -> None:
        """Write the file."""
        exhibit = exhibits.of(self.study, "figures")[self.figure]
        found = evidence.sources(self.study, exhibit)[self.source]
        with matplotlib.rc_context(style.rc()):
            figure = found.shown(exhibit)
        saving.save(figure, self.file, _runs(exhibit, found))


def jobs(study: str, png: bool = False) -> tuple[list[Job], dict[str, Any]]:
    """The figures of a study that must be drawn, and the index of all its figures. `png`: all of them, as PNG below
    work/.

    All are drawn where the folder has other bytes than DVC recorded: one of its files is damaged.
    """
    folder = FIGURES / study
    before = _index(folder)
    todo, index = [], {}
    for name, exhibit in exhibits.of(study, "figures").items():
        for suffix, found in evidence.sources(study, exhibit).items():
            named = f"{name}{suffix}"
            index[named] = _entry(exhibit, found)
            file = PNG / study / f"{named}.png" if png else folder / f"{named}.svg"
            if png or not file.is_file() or before.get(named, {}).get("digest") != index[named]["digest"]:
                todo.append(Job(study, name, suffix, file))
    return todo, index


def _index(folder: Path) -> dict[str, Any]:
    """What is drawn there already, with digests; nothing if DVC recorded other bytes."""
    if not (folder / INDEX).is_file() or md5(folder) != locked().get(folder, md5(folder)):
        return {}
    found: dict[str, Any] = artifacts.read("exhibits", folder / INDEX)
    return found


def work(study: str, png: bool = False) -> Work:
    """Draw the changed figures of a study, remove old ones, and return the files that were written."""
    todo, index = jobs(study, png)

    def finish(_: list[None]) -> list[Path]:
        if not png:
            _tidy(study, index)
        return [job.file for job in todo]

    return Work([job.draw for job in todo], finish)


def _tidy(study: str, index: dict[str, Any]) -> None:
    """Write the index of a study's figures, and remove every other file."""
    folder = FIGURES / study
    for path in folder.glob("*"):
        if path.name not in {INDEX, *(f"{name}.svg" for name in index)}:
            path.unlink()
    paths.write_whole(folder / INDEX, json.dumps(index, indent=1) + "\n")
