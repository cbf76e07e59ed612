"""The rule on neurons whose class is beyond dispute (000-19), which no training alters."""

from typing import Any

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, Verdict

READING = ["rows", "slices", "variance"]


def sorts_rightly(evidence: Evidence) -> Finding:
    """000-19: is there a reading of the norms under which one set of thresholds sorts every kind at every width?"""
    worst, limit = by_reading(evidence.table("constructed_neurons")), evidence.margin["right_share_1"]
    value = float(worst.max())
    verdict: Verdict = "reproduced" if value >= limit else "contradicted"
    right = [_named(reading) for reading in worst.index[worst >= limit]]
    best = _named(worst.idxmax())
    text = f"{len(right)} of {len(worst)} readings do: {'; '.join(right)}" if right else f"none; the best is {best}"
    return Finding(verdict, value, value, value, 1, "of the worst kind, best reading", text)


def by_reading(rows: pd.DataFrame) -> pd.Series:
    """Each reading's share of right classes at the kind and width where it is lowest."""
    return rows.groupby(READING)["right_share_1"].min()


def _named(reading: Any) -> str:
    rows, slices, variance = reading
    return f"norms {rows}, variance by {slices}, threshold {variance}"
