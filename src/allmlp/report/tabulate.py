"""Tables: each study's own, one row per run of all studies, and the dictionary of all columns."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import paths, studies
from allmlp.report import evidence, exhibits, levels, selection
from allmlp.report.evidence import Evidence
from allmlp.report.exhibits import Exhibit

TABLES = Path("results/tables")


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown, as it stands."""
    rows = [list(table.columns), ["---"] * len(table.columns), *table.itertuples(index=False, name=None)]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def _write(path: Path, table: pd.DataFrame) -> None:
    shown = table.copy()
    for name in shown.select_dtypes("float"):
        shown[name] = shown[name].map(lambda value: f"{value:.6g}")
    paths.write_whole(path.with_suffix(".csv"), shown.to_csv(index=False))
    paths.write_whole(path.with_suffix(".md"), markdown(shown))


def runs_table() -> pd.DataFrame:
    """One row per run that was measured, over all studies and scales: what it was, what it cost, how it ended."""
    content, parts = selection.read(), []
    for study in studies.STUDIES:
        for scale, found in {**evidence.by_scale(study, content), **evidence.by_overlay(study, content)}.items():
            ended = levels.columns(found)
            for run in found.measured("cost"):
                described = found.content["runs"][run]
                keys = ("architecture", "task", "corpus", "steps", "seed", "device", "threads")
                rows = found.table("cost").query("run == @run").drop(columns=["run", "seed", *described["labels"]])
                head = {"study": study, "scale": scale, "run": run, **{key: described[key] for key in keys}}
                measured = {str(key): value for key, value in rows.iloc[0].items()}
                parts.append({**head, **measured, **ended.get(run, levels.UNTRAINED)})
    return pd.DataFrame(parts)


def columns_table() -> pd.DataFrame:
    """What every column of every measure means: kind, tolerance, meaning."""
    rows = []
    for study in studies.STUDIES:
        shared = (*studies.SHARED, *studies.FROM_LONG) if studies.has_runs(study) else ()
        for measure in [*studies.measures(study), *shared]:
            for name, column in studies.measure(study, measure).COLUMNS.items():
                rows.append((study, measure, name, column.kind, column.rtol, column.atol, column.meaning))
    return pd.DataFrame(rows, columns=["study", "measure", "column", "kind", "rtol", "atol", "meaning"])


def _entry(exhibit: Exhibit, found: Evidence) -> dict[str, Any]:
    about = {"scale": found.scale, "recorded": found.recorded, "seeds": found.seeds_of(exhibit.measures[0])}
    return {**exhibit.about(), **about, **evidence.extension(found)}


def tabulate() -> None:
    """Write every table as CSV and Markdown, remove what is no longer one."""
    content, written = selection.read(), {TABLES / "runs", TABLES / "columns"}
    for study in studies.STUDIES:
        index = {}
        for kind, exhibit in exhibits.of(study, "tables").items():
            for suffix, found in evidence.sources(study, exhibit, content).items():
                name = f"{kind}{suffix}"
                _write(TABLES / study / name, found.shown(exhibit))
                index[name] = _entry(exhibit, found)
                written.add(TABLES / study / name)
        if index:
            written.add(TABLES / study / "index")
            paths.write_whole(TABLES / study / "index.json", json.dumps(index, indent=1) + "\n")
    _write(TABLES / "runs", runs_table())
    _write(TABLES / "columns", columns_table())
    for path in TABLES.rglob("*.*"):
        if path.is_file() and path.with_suffix("") not in written:
            path.unlink()
