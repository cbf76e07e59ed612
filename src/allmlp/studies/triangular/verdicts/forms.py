"""Identities and counts, which no training alters (004-1, -8)."""

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.rules import exact
from allmlp.studies.triangular.printed import READING


def parameter_count(evidence: Evidence) -> Finding:
    """004-1: has the model at the printed sizes the printed number of weights?"""
    counts = evidence.table("parameter_counts").set_index("reading")["parameters"]
    printed, margin = evidence.paper["parameters_millions"], evidence.margin["count_millions"]
    millions = float(counts[READING]) / 1e6
    others = "; ".join(f"{reading} {count:,}" for reading, count in counts.items() if reading != READING)
    text = f"{counts[READING]:,} weights, printed {printed:g} million (other readings: {others})"
    return exact(abs(millions - printed) <= margin, millions, "million weights", text)


def causal_without_bias(evidence: Evidence) -> Finding:
    """004-8: exactly no change from later tokens, no gradient of masked weights, no bias over time."""
    rows, limit = evidence.table("causality"), evidence.margin["difference_1"]
    parts = {
        "(a) change from later tokens": ("leak_1", limit),
        "(b) gradient of masked weights": ("masked_gradient_1", limit),
        "(c) biases over time": ("time_biases", 0),
    }
    findings = {}
    for name, (column, most) in parts.items():
        worst = float(rows[column].max())
        text = f"at most {worst:g} over {len(rows)} forms, numbers of triangles and masks"
        findings[name] = exact(worst <= most, worst, "largest", text)
    return whole(findings)
