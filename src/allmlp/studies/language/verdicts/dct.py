"""The rules on DCT neurons and the DCT-MLP as tests (000-13, 000-18, own claims). The unit is the seed."""

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, log2

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_exact, part_rows, premise, withhold_verdict
from allmlp.judging.statistics import Finding, judge_better, judge_prediction
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.crossings import BOTH, Ratios, crossings, largest_data_multiple, ratios

UNIT = "log2 of the ratio of weights"
NOWHERE = "no perplexity was reached by both, so every ratio is an end of the sizes tried"
LAST, MEAN = "last k tokens", "mean of all tokens"


def matched_perplexity(evidence: Evidence) -> Finding:
    """000-13: 3 times the weights at equal data, 1.5 times with 3 times the data."""
    rows = part_rows(evidence.table("perplexity"), "perplexity", models=BOTH)
    paper, limit = evidence.paper, evidence.margin["factor_log2"]
    data = int(paper["data_ratio_1"])
    (equal,) = ratios(crossings(rows, 1))
    (more,) = ratios(crossings(rows, data))
    parts = {
        "(a) equal data": _judge_factor(equal, paper, "parameters_ratio_1", limit),
        f"(b) {data} times the data": _judge_factor(more, paper, "parameters_ratio_more_data_1", limit),
    }
    return require_all_parts(parts)


def more_weights(evidence: Evidence) -> Finding:
    """000-own-6: more weights at equal data, fewer of them with more data."""
    rows, margin = part_rows(evidence.table("perplexity"), "perplexity", models=BOTH), evidence.margin["weights_log2"]
    (alone,) = ratios(crossings(rows, 1))
    equal, more = ratios(crossings(rows, 1), crossings(rows, largest_data_multiple(rows)))
    parts = {
        "(a) more weights": _judge_censored(alone.log2, margin, alone.note(), smaller=alone.low, larger=alone.high),
        "(b) data in their place": _difference(equal, more, margin),
    }
    return require_all_parts(parts)


def operations_and_weights(evidence: Evidence) -> Finding:
    """000-own-7: the ratio in weights minus the ratio in operations."""
    rows = part_rows(evidence.table("perplexity"), "perplexity", models=BOTH)
    weights, operations = ratios(crossings(rows, 1), crossings(rows, 1, "operations"))
    return _difference(weights, operations, evidence.margin["ratio_log2"])


def neuron_identities(evidence: Evidence) -> Finding:
    """000-18: any linear function of the last k tokens; the mean of all; k d weights."""
    rows, limit = evidence.table("dct_identities"), evidence.margin["difference_1"]
    off = (rows["weights"] - rows["frequencies"] * rows["d_model"]).abs()
    text = f"k d in {int((off == 0).sum())} of {len(rows)} neurons"
    parts = {
        "(a) the last k tokens": _judge_difference(rows[rows["identity"] == LAST], limit),
        "(b) the mean": _judge_difference(rows[rows["identity"] == MEAN], limit),
        "(c) k d weights": judge_exact(bool((off == 0).all()), float(off.max()), "weights off", text),
    }
    return require_all_parts(parts)


def _judge_factor(found: Ratios, paper: Mapping[str, float], key: str, limit: float) -> Finding:
    """Could the claimed factor be that of one more seed? A censored ratio cannot support it, and refutes on one side
    only."""
    claimed, middle = paper[key], 2 ** float(found.log2.mean())
    half_unit = 0.5 * 10.0 ** -len(f"{claimed:g}".partition(".")[2])
    # the nearest of the numbers that are printed as this one
    nearest = claimed if isnan(middle) else min(max(middle, claimed - half_unit), claimed + half_unit)
    finding = judge_prediction(found.log2, log2(nearest), max_half_width=limit, unit=UNIT)
    here, text = {key: 2**finding.value}, f"{finding.text} (log2 of {claimed:g}); {found.note()}"
    here = {} if found.ends_only else here  # an end of the sizes tried is no number to stand beside the paper's
    finding = replace(finding, text=text, here=here)
    finding = withhold_verdict(finding, "reproduced", "it is censored", when=found.low or found.high)
    finding = premise(finding, NOWHERE, holds=not found.ends_only)
    open_side = (found.high and finding.value < log2(claimed)) or (found.low and finding.value > log2(claimed))
    return withhold_verdict(finding, "contradicted", "the sizes tried end before the claimed ratio", when=open_side)


def _difference(first: Ratios, second: Ratios, margin: float) -> Finding:
    """Is `first` minus `second`, paired by seed, above the margin?"""
    note = f"{first.note()}, and {second.note()}"
    return _judge_censored(
        first.log2 - second.log2, margin, note, smaller=first.low or second.high, larger=first.high or second.low
    )


def _judge_censored(values: np.ndarray, margin: float, note: str, *, smaller: bool, larger: bool) -> Finding:
    """`judge_better`, for values that censoring made larger (`smaller`) or smaller (`larger`) than they are."""
    finding = judge_better(values, margin, unit="log2 of a ratio")
    finding = replace(finding, text=f"{finding.text}; {note}")
    finding = withhold_verdict(finding, "reproduced", "some ratio may be smaller", when=smaller)
    return withhold_verdict(finding, "contradicted", "some ratio may be larger", when=larger)


def _judge_difference(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the largest difference of neuron and function at most `limit`?"""
    if rows.empty:
        raise NotPlannedError("needs neurons of both identities, which are not planned")
    value = float(rows["difference_1"].max())
    text = f"largest difference {value:.2g} over {len(rows)} neurons, limit {limit:g}"
    return judge_exact(value <= limit, value, "largest difference", text)
