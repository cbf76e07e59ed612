"""Identities and counts, without training (002-6, -11)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_exact
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence

LINEAR = "linear-causal-rn"


def stable_forms(evidence: Evidence) -> Finding:
    """002-6: are the stable forms the direct sums, under the post-reduction norm?"""
    rows = evidence.table("exact_forms")
    return _judge_largest(rows[rows["form"].str.startswith("stable")], evidence.margin["difference_1"])


def linear_time(evidence: Evidence) -> Finding:
    """002-11: the factorised sum, O(n) operations in training, O(1) for a generated token."""
    rows, margin = evidence.table("exact_forms"), evidence.margin
    operations = evidence.table("operations")
    operations = operations[operations["model"].eq(LINEAR) & operations["run"].eq(operations["run"].iloc[0])]
    return require_all_parts(
        {
            "(a) the factorised sum": _judge_largest(
                rows[rows["form"].str.startswith("factor")], margin["difference_1"]
            ),
            "(b) training": _judge_growth(operations, "training", "training_exponent_1", evidence),
            "(c) generation": _judge_growth(operations, "generation", "inference_exponent_1", evidence),
        }
    )


def _judge_largest(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the largest difference, over forms and sizes of inputs, at most `limit`?"""
    worst = rows.sort_values("difference_1", kind="stable").iloc[-1]
    value = float(worst["difference_1"])
    text = f"largest difference {value:.2g} ({worst['form']}, inputs of size {worst['size_1']:g}), limit {limit:g}"
    return judge_exact(value <= limit, value, "largest difference", text)


def _judge_growth(rows: pd.DataFrame, column: str, key: str, evidence: Evidence) -> Finding:
    """Is the slope of log operations over log length within the margin of the claimed exponent?"""
    exponent, margin = evidence.paper[key], evidence.margin["exponent_1"]
    slope = float(np.polyfit(np.log(rows["length"]), np.log(rows[column]), 1)[0])
    text = f"exponent {slope:.3f} from {rows['length'].min()} to {rows['length'].max()} tokens; claimed {exponent:g}"
    found = judge_exact(abs(slope - exponent) <= margin, slope, "exponent of the length", text)
    return replace(found, here={key: round(slope, 9) + 0.0})  # a slope of 1e-15 is another one on another CPU
