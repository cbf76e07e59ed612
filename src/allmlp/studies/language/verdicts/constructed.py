"""The rule on constructed neurons of known class (000-19), without training."""

from typing import Any

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding
from allmlp.studies.rules import exact

READING = ["rows", "slices", "variance"]


def sorts_rightly(evidence: Evidence) -> Finding:
    """000-19: is there a reading of the norms under which one set of thresholds sorts every kind at every width?"""
    rows, limit = evidence.table("constructed_neurons"), evidence.margin["right_share_1"]
    worst = rows.groupby(READING)["right_share_1"].min()  # at the kind and width where a reading is worst
    right = [_named(reading) for reading in worst.index[worst >= limit]]
    found = f"{len(right)} of {len(worst)} readings do: {'; '.join(right)}"
    text = found if right else f"none; the best is {_named(worst.idxmax())}"
    return exact(bool(right), float(worst.max()), "of the worst kind, best reading", text)


def _named(reading: Any) -> str:
    rows, slices, variance = reading
    return f"norms {rows}, variance by {slices}, threshold {variance}"
