"""The rule on context length as a test (000-14): exact counts, and the loss for information -> a finding."""

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding
from allmlp.studies.rules import exact


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
    return exact(holds, nearest, "million weights", text)
