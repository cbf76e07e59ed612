"""results/metrics.json: what `dvc metrics show` and `dvc metrics diff STATE` say of a state, in some fifty numbers."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp.common import paths
from allmlp.judging import claims_json, selection
from allmlp.plan.merge import SCALES
from allmlp.report import badges, run_counts
from allmlp.report.tabulate import TABLES
from allmlp.spec import catalogue

METRICS = Path("results/metrics.json")
ALL, OWN = "all", "own"


def content() -> dict[str, Any]:
    """Claims by study and verdict, this project's own under `own`; measured runs by scale; the levelled share by study.

    They are counted as for README and the report: a claim on the number of another one counts with that one, and a run
    of several scales in each of them. What is not there, such as a verdict that no claim of a study has, is left out.
    """
    entries, of_studies = claims_json.read()["claims"], selection.read()["studies"]
    rows = pd.read_csv(TABLES / "runs.csv", dtype=str, keep_default_na=False)
    return {
        "claims": _study_counts(entries),
        "runs": {scale: len(runs) for scale in SCALES if (runs := run_counts.measured_runs(of_studies, scale))}
        | {ALL: len(run_counts.measured_runs(of_studies))},
        "levelled_share_1": run_counts.levelled_shares(rows),
    }


def _study_counts(entries: list[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {name: Counter() for name in (ALL, *catalogue.STUDIES, OWN)}
    for entry in entries:
        if not entry.get("same_as"):
            for name in (ALL, OWN if catalogue.is_project_claim(entry["id"]) else entry["study"]):
                found[name][badges.words(entry)] += 1
    return {name: dict(sorted(counts.items())) for name, counts in found.items() if counts}


def write() -> None:
    """Write results/metrics.json."""
    paths.write_atomically(METRICS, json.dumps(content(), indent=1) + "\n")
