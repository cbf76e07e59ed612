"""Tables: each study's own, one row per run of all studies, and the dictionary of all columns."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from allmlp.common.errors import warn
from allmlp.common.workers import Work
from allmlp.judging import evidence, selection, training_levels
from allmlp.judging.unsuited import UnsuitedError
from allmlp.report import exhibit_files
from allmlp.report.save_table import save_table
from allmlp.spec import catalogue, exhibits

TABLES = Path("results/tables")
KEYS = ["architecture", "task", "corpus", "steps", "seed", "device", "threads"]  # of a run's description


def runs_table() -> pd.DataFrame:
    """One row per measured run of all studies and scales: its description, its cost, how it ended."""
    content, parts = selection.read(), []
    for study in catalogue.STUDIES:
        for scale, found in {
            **evidence.evidence_by_scale(study, content),
            **evidence.evidence_by_overlay(study, content),
        }.items():
            if runs := found.measured_runs("cost"):
                costs = found.table("cost")[list(catalogue.measure(study, "cost").columns)]
                ended, described = (
                    training_levels.columns(found),
                    pd.DataFrame([found.content["runs"][run] for run in runs]),
                )
                how = pd.DataFrame([ended.get(run, training_levels.UNTRAINED) for run in runs])
                parts.append(pd.concat([described[KEYS], costs, how], axis=1))
                for place, (name, value) in enumerate((("study", study), ("scale", scale), ("run", runs))):
                    parts[-1].insert(place, name, value)
    if not parts:  # a table has its columns, though nothing is measured
        of_costs = catalogue.measure(next(iter(catalogue.STUDIES)), "cost").columns
        return pd.DataFrame(columns=["study", "scale", "run", *KEYS, *of_costs, *training_levels.UNTRAINED])
    return pd.concat(parts, ignore_index=True)


def columns_table() -> pd.DataFrame:
    """Kind, tolerance and meaning of every column of every measure."""
    rows = []
    for study in catalogue.STUDIES:
        shared = (*catalogue.SHARED, *catalogue.FROM_LONG) if catalogue.has_runs(study) else ()
        for measure in [*catalogue.measures(study), *shared]:
            for name, column in catalogue.measure(study, measure).columns.items():
                rows.append((study, measure, name, column.kind, column.rtol, column.atol, column.meaning))
    return pd.DataFrame(rows, columns=["study", "measure", "column", "kind", "rtol", "atol", "meaning"])


def _write_study_tables(study: str) -> set[Path]:
    """Write the changed tables of a study, and their index. Returns the files of all."""
    index, folder = {}, TABLES / study
    for kind, exhibit in exhibits.study_exhibits(study, "tables").items():
        for suffix, found in evidence.sources(study, exhibit).items():
            about = exhibit_files.describe(exhibit, found, save_table.__module__)
            try:
                if not exhibit_files.is_current(file := folder / f"{kind}{suffix}.csv", about["digest"]):
                    save_table(found.make_exhibit(exhibit), file)
            except UnsuitedError as error:
                if not found.own:
                    raise
                warn(f"{error}: left out")
                continue
            index[file.stem] = about
    return exhibit_files.write_index(folder, ".csv", index) if index else set()


def _write_project_table(name: str, made: Callable[[], pd.DataFrame]) -> set[Path]:
    save_table(made(), TABLES / name)
    return {TABLES / name}


def _tidy(written: list[set[Path]]) -> None:
    """Remove files of tables that no longer exist."""
    for path in TABLES.rglob("*.*"):
        if path.is_file() and path not in set().union(*written):
            path.unlink()


def work() -> Work:
    """Every table, written as CSV."""
    tasks: list[Callable[[], set[Path]]] = [partial(_write_study_tables, study) for study in catalogue.STUDIES]
    tasks += [
        partial(_write_project_table, "runs.csv", runs_table),
        partial(_write_project_table, "columns.csv", columns_table),
    ]
    return Work(tasks, _tidy)
