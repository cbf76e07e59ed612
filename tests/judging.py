"""How tests judge a claim: by its own rule, margins and printed numbers, on made-up measurements."""

from typing import Any

import pandas as pd

from allmlp.judging.evidence import Evidence
from allmlp.judging.statistics import Finding
from allmlp.spec import catalogue

STEPS = 400


def claim_of(claim: str) -> tuple[str, dict[str, Any]]:
    """The study of a claim, and its row of claims.yaml."""
    (found,) = [(study, row) for study in catalogue.STUDIES for row in catalogue.ledger(study) if row["id"] == claim]
    return found


def judged(claim: str, *, scale: str = "laptop", models: list[str] | None = None, **tables: pd.DataFrame) -> Finding:
    """The finding on `tables`, by the names of their measures. `models` (default: those of the rows) are planned, and
    each run of the rows with STEPS steps."""
    study, row = claim_of(claim)
    there = {model for rows in tables.values() if "model" in rows for model in rows["model"]}
    planned = sorted(there if models is None else models)
    runs = {run for rows in tables.values() if "run" in rows for run in rows["run"]}
    content = {
        "runs": {
            **{run: {"steps": STEPS} for run in runs},
            **{model: {"labels": {"model": model}} for model in planned},
        },
        "planned": dict.fromkeys(tables, planned),
        "measurements": {},
        "tables": {(measure,): rows for measure, rows in tables.items()},
    }
    about = {"margin": row["margin"], "paper": row["paper"] or {}, "seeds": row["needs"]["seeds"]}
    return catalogue.verdict(study, row["test"])(Evidence(study, scale, content, **about))


def parts(finding: Finding) -> list[str]:
    """The verdict of each part, or the finding's own where it has none."""
    return [part.verdict for part in finding.parts] or [finding.verdict]
