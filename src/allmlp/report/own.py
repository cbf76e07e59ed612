"""What a report of a user's own runs has of its own: the committed exhibits beside, and what a verdict lacks.

Such a report lies in own/NAME/results and speaks of the studies that the user's files touch, at one scale.
"""

import math
import os
import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd

from allmlp.common import formats, paths
from allmlp.common.paths import CLAIMS, REPORT
from allmlp.plan.results_folder import NO_FILE
from allmlp.report import first_screen, run_counts

OF_TEXT = ("last-token", "next-token", "documents")  # tasks whose loss is that of a token of text
NEAR = 0.9  # of ln(vocabulary)


def committed_verdicts() -> dict[str, dict[str, Any]]:
    """id -> the project's own entry of claims.json; empty where the project has no results."""
    file = paths.project() / CLAIMS
    return {entry["id"]: entry for entry in formats.read_json(file)["claims"]} if file.is_file() else {}


def touched_studies(of_studies: run_counts.Studies) -> list[str]:
    """The studies that the report speaks of."""
    return [study for study, scales in of_studies.items() if scales]


def progress(of_studies: run_counts.Studies, study: str, scale: str) -> dict[str, int]:
    """How many of a study's runs at a scale are `measured`, and how many are `planned`."""
    of_study = {study: of_studies[study]}
    measured, missing = run_counts.measured_runs(of_study), run_counts.missing_runs(of_study, scale)
    return {"measured": len(measured - missing), "planned": len(measured | missing)}


def what_is_missing(row: Mapping[str, Any]) -> str:
    """What a verdict on the user's runs lacks, in words; empty where they decide."""
    return "; ".join(" ".join(filter(None, (lack.part, lack.words))) for lack in row["lacks"])


def beside(mine: list[dict[str, Any]], committed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures or tables of the user's runs, each with `committed`, the project's of the same name, if it has one.

    A diagram of a model is the same in both.
    """
    there = {item["name"]: item for item in committed if item.get("runs") != 0}
    return [{**item, "committed": there.get(item["name"])} for item in mine]


def content(of_studies: list[dict[str, Any]], selected: Mapping[str, Any], runs: pd.DataFrame) -> dict[str, Any]:
    """The values of the template own.html.j2, from the studies of the page, selected.json and runs.csv."""
    return {
        "own": [_study(study, selected, runs) for study in of_studies],
        "committed_page": os.path.relpath(paths.project() / REPORT, REPORT.parent),
        "untouched": [name for name, scales in selected["studies"].items() if not scales],
    }


def near_uniform(rows: pd.DataFrame, corpora: Mapping[str, Any]) -> bool:
    """Is the best loss of the models of text, by rows of runs.csv, close to that of a guess that ignores the text?

    That guess loses ln(vocabulary) nats a token.
    """
    losses = pd.to_numeric(rows["validation_nats"], errors="coerce")
    types = rows["corpus"].map(lambda name: corpora.get(name, {}).get("counts", {}).get("vocabulary", math.nan))
    of_text = rows["task"].isin(OF_TEXT) & losses.notna() & types.notna()
    return bool(of_text.any() and (losses[of_text] / types[of_text].map(math.log)).min() > NEAR)


def _study(study: dict[str, Any], selected: Mapping[str, Any], runs: pd.DataFrame) -> dict[str, Any]:
    rows, committed = [*study["claims"], *study["own"]], committed_verdicts()
    claims = [{"row": row, "missing": what_is_missing(row), "committed": committed.get(row["id"])} for row in rows]
    measured = run_counts.measured_runs({study["name"]: selected["studies"][study["name"]]})
    trained = runs[runs["run"].isin(measured)].drop_duplicates("run")
    return {
        "study": study,
        "trained": len(trained),
        "near_uniform": near_uniform(trained, selected["corpora"]),
        "progress": progress(selected["studies"], study["name"], selected["scale"]),
        "command": command(selected, study["name"]),
        "claims": claims,
        "decided": len(decided := [claim for claim in claims if not claim["missing"]]),
        "without_runs": sum(first_screen.basis(claim["row"]["verdict"]) == first_screen.DERIVED for claim in decided),
    }


def command(selected: Mapping[str, Any], study: str) -> str:
    """What trains the runs of a study that the report lacks."""
    files = [name for name in selected["overlays"] if name != NO_FILE]
    laid = ["--configfile", *files] if files else []
    said = [f"scale={selected['scale']}", f"study={study}"]
    return shlex.join(["snakemake", "--cores", "all", *laid, "--config", *said])


def show_command(run: str, selected: Mapping[str, Any]) -> str:
    """What shows a run of the report; only with the user's files, at their scale, does the plan have it."""
    overlays = selected.get("overlays", [])
    laid = [word for name in overlays if name != NO_FILE for word in ("--params", name)]
    return shlex.join(["allmlp", "show", run, *laid, *(["--scale", selected["scale"]] if overlays else [])])
