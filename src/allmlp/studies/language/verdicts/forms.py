"""Rules without training: constructed neurons of known class, and counts (000-19, 000-14)."""

from dataclasses import replace
from typing import Any

import pandas as pd

from allmlp.judging.rules import judge_exact
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence

READING = ["rows", "slices", "variance"]


def sorts_rightly(evidence: Evidence) -> Finding:
    """000-19: is there a reading of the norms under which one set of thresholds sorts every kind at every width?"""
    rows, limit = evidence.table("constructed_neurons"), evidence.margin["right_share_1"]
    worst = rows.groupby(READING)["right_share_1"].min()  # at the kind and width where a reading is worst
    right = [_reading_name(reading) for reading in worst.index[worst >= limit]]
    found = f"{len(right)} of {len(worst)} readings do: {'; '.join(right)}"
    text = found if right else f"none; the best is {_reading_name(worst.idxmax())}"
    text = f"{text}; {_as_printed(rows, limit)}"
    return judge_exact(bool(right), float(worst.max()), "of the worst kind, best reading", text)


def _as_printed(rows: pd.DataFrame, limit: float) -> str:
    """At which widths some reading sorts with the variance's threshold as it is printed."""
    worst = rows[rows["variance"].eq("printed")].groupby(["width", *READING])["right_share_1"].min()
    widths = worst[worst >= limit].index.unique("width").tolist()
    return f"with the variance's threshold as printed, at width {', '.join(map(str, widths)) or 'none'}"


def _reading_name(reading: Any) -> str:
    rows, slices, variance = reading
    return f"norms {rows}, variance by {slices}, threshold {variance}"


def context_parameters(evidence: Evidence) -> Finding:
    """000-14: weights grow by d^2 per token of context, from the paper's constant, under one way of counting."""
    rows, paper, margin = evidence.table("context_parameters"), evidence.paper, evidence.margin
    beyond = rows.groupby("reading", sort=False)["beyond_context"].agg(["min", "max"]) / 1e6
    constant, claimed = bool((beyond["min"] == beyond["max"]).all()), paper["constant_parameters_millions"]
    nearest = beyond["min"].iloc[(beyond["min"] - claimed).abs().argmin()]
    holds = constant and abs(nearest - claimed) <= margin["count_millions"]
    counts = ", ".join(f"{reading} {value:.3f}" for reading, value in beyond["min"].items())
    growth = "the same at every T" if constant else "not the same at every T"
    text = f"millions of weights beyond T d^2, {growth}: {counts}; the paper's constant is {claimed}"
    here = {"constant_parameters_millions": float(nearest)}
    return replace(judge_exact(holds, nearest, "million weights", text), here=here)
