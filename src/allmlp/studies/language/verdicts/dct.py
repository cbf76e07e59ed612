"""The rules on DCT neurons and the DCT-MLP as tests (000-13, 000-18, own claims). The unit is the seed."""

from collections.abc import Mapping
from dataclasses import replace
from math import log2

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better, within_prediction
from allmlp.studies.language.crossings import BOTH, Ratios, crossings, more_data, ratios
from allmlp.studies.rules import NotPlannedError, exact, of_part, premise, withheld

UNIT = "log2 of the ratio of weights"
NOWHERE = "no perplexity was reached by both, so every ratio is an end of the sizes tried"
LAST, MEAN = "last k tokens", "mean of all tokens"


def matched_perplexity(evidence: Evidence) -> Finding:
    """000-13: 3 times the weights at equal data, 1.5 times with 3 times the data."""
    rows = of_part(evidence.table("perplexity"), "perplexity", models=BOTH)
    paper, limit = evidence.paper, evidence.margin["factor_log2"]
    data = int(paper["data_ratio_1"])
    (equal,) = ratios(crossings(rows, 1))
    (more,) = ratios(crossings(rows, data))
    parts = {
        "(a) equal data": _could_be(equal, paper, "parameters_ratio_1", limit),
        f"(b) {data} times the data": _could_be(more, paper, "parameters_ratio_more_data_1", limit),
    }
    return whole(parts)


def more_weights(evidence: Evidence) -> Finding:
    """000-own-6: more weights at equal data, fewer of them with more data."""
    rows, margin = of_part(evidence.table("perplexity"), "perplexity", models=BOTH), evidence.margin["weights_log2"]
    (alone,) = ratios(crossings(rows, 1))
    equal, more = ratios(crossings(rows, 1), crossings(rows, more_data(rows)))
    parts = {
        "(a) more weights": _above(alone.log2, margin, alone.note(), smaller=alone.low, larger=alone.high),
        "(b) data in their place": _difference(equal, more, margin),
    }
    return whole(parts)


def operations_and_weights(evidence: Evidence) -> Finding:
    """000-own-7: the ratio in weights minus the ratio in operations."""
    rows = of_part(evidence.table("perplexity"), "perplexity", models=BOTH)
    weights, operations = ratios(crossings(rows, 1), crossings(rows, 1, "operations"))
    return _difference(weights, operations, evidence.margin["ratio_log2"])


def neuron_identities(evidence: Evidence) -> Finding:
    """000-18: any linear function of the last k tokens; the mean of all; k d weights."""
    rows, limit = evidence.table("dct_identities"), evidence.margin["difference_1"]
    off = (rows["weights"] - rows["frequencies"] * rows["d_model"]).abs()
    text = f"k d in {int((off == 0).sum())} of {len(rows)} neurons"
    parts = {
        "(a) the last k tokens": _difference_of(rows[rows["identity"] == LAST], limit),
        "(b) the mean": _difference_of(rows[rows["identity"] == MEAN], limit),
        "(c) k d weights": exact(bool((off == 0).all()), float(off.max()), "weights off", text),
    }
    return whole(parts)


def _could_be(found: Ratios, paper: Mapping[str, float], key: str, limit: float) -> Finding:
    """Could the claimed factor be that of one more seed? A censored ratio cannot support it, and refutes on one side
    only."""
    claimed = paper[key]
    finding = within_prediction(found.log2, log2(claimed), max_half_width=limit, unit=UNIT)
    here, text = {key: 2**finding.value}, f"{finding.text} (log2 of {claimed:g}); {found.note()}"
    finding = replace(finding, text=text, here=here)
    finding = withheld(finding, "reproduced", "it is censored", when=found.low or found.high)
    finding = premise(finding, NOWHERE, holds=not found.ends_only)
    open_side = (found.high and finding.value < log2(claimed)) or (found.low and finding.value > log2(claimed))
    return withheld(finding, "contradicted", "the sizes tried end before the claimed ratio", when=open_side)


def _difference(first: Ratios, second: Ratios, margin: float) -> Finding:
    """Is `first` minus `second`, paired by seed, above the margin?"""
    note = f"{first.note()}, and {second.note()}"
    return _above(
        first.log2 - second.log2, margin, note, smaller=first.low or second.high, larger=first.high or second.low
    )


def _above(values: np.ndarray, margin: float, note: str, *, smaller: bool, larger: bool) -> Finding:
    """`better`, for values that censoring may have made larger (`smaller`) or smaller (`larger`) than the true ones."""
    finding = better(values, margin, unit="log2 of a ratio")
    finding = replace(finding, text=f"{finding.text}; {note}")
    finding = withheld(finding, "reproduced", "some ratio may be smaller", when=smaller)
    return withheld(finding, "contradicted", "some ratio may be larger", when=larger)


def _difference_of(rows: pd.DataFrame, limit: float) -> Finding:
    """Is the largest difference of neuron and function at most `limit`?"""
    if rows.empty:
        raise NotPlannedError("needs neurons of both identities, which are not planned")
    value = float(rows["difference_1"].max())
    text = f"largest difference {value:.2g} over {len(rows)} neurons, limit {limit:g}"
    return exact(value <= limit, value, "largest difference", text)
