"""The figures of one study. Each is drawn only if its rows, its code or the style changed, with the same bytes each
time."""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

from allmlp.common.errors import warn
from allmlp.common.workers import Work
from allmlp.judging import evidence, training_levels
from allmlp.judging.evidence import Evidence
from allmlp.judging.unsuited import UnsuitedError, named
from allmlp.report import exhibit_files, save, style
from allmlp.report.sparse import drop_sparse_panels
from allmlp.spec import exhibits
from allmlp.spec.exhibits import Exhibit

FIGURES, PNG = Path("results/figures"), Path("work/figures")


def _runs(exhibit: Exhibit, found: Evidence) -> list[str]:
    return sorted({run for measure in exhibit.measures for run in found.measured_runs(measure)})


def _entry(exhibit: Exhibit, found: Evidence) -> dict[str, Any]:
    about = exhibit_files.describe(exhibit, found, save.__name__)
    levelled = training_levels.measure_levels(found, found.trainings(list(exhibit.measures)))
    return {**about, "runs": len(_runs(exhibit, found)), "levelled": levelled}


class Job(NamedTuple):
    """One file to be drawn: a figure of a study, by its name, from one of its `evidence.sources`."""

    study: str
    figure: str
    source: str
    file: Path

    def draw(self) -> str:
        """Write the file. Returns why it is left out; empty if it was written."""
        exhibit = exhibits.study_exhibits(self.study, "figures")[self.figure]
        found = evidence.sources(self.study, exhibit)[self.source]
        try:
            with named(f"{self.study}: {self.figure} cannot be drawn of what is measured at {found.scale}"):
                with matplotlib.rc_context(style.rc()):
                    figure = found.make_exhibit(exhibit)
                drop_sparse_panels(figure)
                save.save(figure, self.file, _runs(exhibit, found))
        except UnsuitedError as error:
            if not found.own:
                raise
            return f"{error}: left out"
        return ""


def jobs(study: str, png: bool = False) -> tuple[list[Job], dict[str, Any]]:
    """The figures of a study that must be drawn, and the index of all its figures. `png`: all of them, as PNG below
    work/.
    """
    todo, index = [], {}
    for name, exhibit in exhibits.study_exhibits(study, "figures").items():
        for suffix, found in evidence.sources(study, exhibit).items():
            named = f"{name}{suffix}"
            index[named] = _entry(exhibit, found)
            file = PNG / study / f"{named}.png" if png else FIGURES / study / f"{named}.svg"
            if png or not exhibit_files.is_current(file, index[named]["digest"]):
                todo.append(Job(study, name, suffix, file))
    return todo, index


def work(study: str, png: bool = False) -> Work:
    """Draw the changed figures of a study, remove old ones, and return the files that were written. Warn of those that
    a user's measurements are not fit for.
    """
    todo, index = jobs(study, png)

    def finish(left_out: list[str]) -> list[Path]:
        why = {job.file: said for job, said in zip(todo, left_out, strict=True) if said}
        for file, said in why.items():
            warn(said)
            del index[file.stem]
        if not png:
            exhibit_files.write_index(FIGURES / study, ".svg", index)
        return [job.file for job in todo if job.file not in why]

    return Work([job.draw for job in todo], finish)
