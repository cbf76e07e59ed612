"""The causality audit of every architecture of the registry (001-1, 001-19, 001-27)."""

import pandas as pd

from allmlp import audit, models
from allmlp.columns import exact

RECIPE = 1

COLUMNS = {
    "architecture": exact("architecture, and the options it was audited with"),
    "check": exact("what was looked for"),
    "result": exact("pass, fail or not applicable"),
    "position": exact("where it fails: the first prediction of the row that shows it; -1: the row's one or none"),
    "source": exact("where it fails: the position that was altered; -1: other rows"),
    "declared": exact("why the check is known to fail, for what is kept as published; else empty"),
    "detail": exact("what was found, or why the check does not apply"),
}


def measure() -> pd.DataFrame:
    """One row per architecture and check, with fresh tiny weights; the run's weights are not used."""
    found = audit.audit(models.REGISTRY)
    return pd.DataFrame([{name: getattr(finding, name) for name in COLUMNS} for finding in found])
