"""Tables: each study's own, one row per run of all studies, and the dictionary of all columns."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import paths, studies
from allmlp.report import evidence, exhibits, levels, selection
from allmlp.report.evidence import Evidence
from allmlp.report.exhibits import Exhibit
from allmlp.report.workers import Work

TABLES, INDEX = Path("results/tables"), "index.json"


KEYS = ["architecture", "task", "corpus", "steps", "seed", "device", "threads"]  # of a run's description


def _write(path: Path, table: pd.DataFrame) -> None:
    shown = table.copy()
    for name in shown.select_dtypes("float"):
        shown[name] = shown[name].map(lambda value: f"{value:.6g}")
    paths.write_whole(path, shown.to_csv(index=False))


def runs_table() -> pd.DataFrame:
    """One row per measured run of all studies and scales: its description, its cost, how it ended."""
    content, parts = selection.read(), []
    for study in studies.STUDIES:
        for scale, found in {**evidence.by_scale(study, content), **evidence.by_overlay(study, content)}.items():
            if runs := found.measured("cost"):
                costs = found.table("cost")[list(studies.measure(study, "cost").COLUMNS)]
                ended, described = levels.columns(found), pd.DataFrame([found.content["runs"][run] for run in runs])
                how = pd.DataFrame([ended.get(run, levels.UNTRAINED) for run in runs])
                parts.append(pd.concat([described[KEYS], costs, how], axis=1))
                for place, (name, value) in enumerate((("study", study), ("scale", scale), ("run", runs))):
                    parts[-1].insert(place, name, value)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def columns_table() -> pd.DataFrame:
    """Kind, tolerance and meaning of every column of every measure."""
    rows = []
    for study in studies.STUDIES:
        shared = (*studies.SHARED, *studies.FROM_LONG) if studies.has_runs(study) else ()
        for measure in [*studies.measures(study), *shared]:
            for name, column in studies.measure(study, measure).COLUMNS.items():
                rows.append((study, measure, name, column.kind, column.rtol, column.atol, column.meaning))
    return pd.DataFrame(rows, columns=["study", "measure", "column", "kind", "rtol", "atol", "meaning"])


def _entry(exhibit: Exhibit, found: Evidence) -> dict[str, Any]:
    about = {
        "scale": found.scale,
        "recorded": found.recorded,
        "corpora": found.corpora(exhibit.measures),
        "seeds": found.seeds_of(exhibit.measures[0]),
    }
    return {**exhibit.about(), **about, **evidence.extension(found)}


def _of_study(study: str) -> set[Path]:
    """Write a study's own tables and their index. Returns the files."""
    index, folder = {}, TABLES / study
    for kind, exhibit in exhibits.of(study, "tables").items():
        for suffix, found in evidence.sources(study, exhibit).items():
            _write(folder / f"{kind}{suffix}.csv", found.shown(exhibit))
            index[f"{kind}{suffix}"] = _entry(exhibit, found)
    if index:
        paths.write_whole(folder / INDEX, json.dumps(index, indent=1) + "\n")
    return {folder / INDEX, *(folder / f"{name}.csv" for name in index)}


def _of_all(name: str, made: Callable[[], pd.DataFrame]) -> set[Path]:
    _write(TABLES / name, made())
    return {TABLES / name}


def _tidy(written: list[set[Path]]) -> None:
    """Remove files of tables that no longer exist."""
    for path in TABLES.rglob("*.*"):
        if path.is_file() and path not in set().union(*written):
            path.unlink()


def work() -> Work:
    """Every table, written as CSV."""
    tasks: list[Callable[[], set[Path]]] = [partial(_of_study, study) for study in studies.STUDIES]
    tasks += [partial(_of_all, "runs.csv", runs_table), partial(_of_all, "columns.csv", columns_table)]
    return Work(tasks, _tidy)
