"""Rules on the certificate of the whole network (003-own-2, 003-own-6)."""

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_above, judge_below
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence
from allmlp.studies.quadrature.verdicts.common import judge_every_seed, values_by_seed

TERMS = 81  # of the structured level that the claims speak of


def whole_network_certificate(evidence: Evidence) -> Finding:
    """003-own-2: the story alone certifies nothing, structure and Fourier terms nearly all, as the hidden layer."""
    rows, limit = evidence.table("certificate"), evidence.margin["share_1"]
    share = "certified_accuracy_1"
    parts = {
        "(a) nothing from the story alone": judge_above(
            1 - _level_values(rows, "story", share), limit, unit="of pairs"
        ),
        f"(b) structured, {TERMS} terms": judge_above(
            _level_values(rows, "structured", share, TERMS), limit, unit="of pairs"
        ),
        "(c) hidden layer exactly": judge_above(_level_values(rows, "hidden", share), limit, unit="of pairs"),
    }
    return require_all_parts(parts)


def certificate_cost(evidence: Evidence) -> Finding:
    """003-own-6: never above the truth, and for less than trying all pairs."""
    rows, limit = evidence.table("certificate"), evidence.margin["share_1"]
    rows = rows.assign(share_1=rows["operations"] / rows["brute_operations"])
    bounds = rows[rows["level"] != "truth"]  # which is itself counted by brute force
    excess = values_by_seed(
        rows, bounds.groupby("seed")["largest_excess_nats"].agg(lambda levels: levels.max(skipna=False))
    )
    parts = {
        "(a) no bound above the truth": judge_every_seed(
            excess, 0.0, "largest bound minus true margin of any level (nats)"
        ),
        "(b) operations of the hidden layer's": judge_below(
            _level_values(rows, "hidden", "share_1"), limit, "of brute force"
        ),
        f"(c) operations of {TERMS} terms'": judge_below(
            _level_values(rows, "structured", "share_1", TERMS), limit, "of brute force"
        ),
    }
    return require_all_parts(parts)


def _level_values(rows: pd.DataFrame, level: str, column: str, terms: int | None = None) -> np.ndarray:
    """A level's values, one per seed; NaN for a seed without the level."""
    chosen = rows[rows["level"] == level]
    chosen = chosen if terms is None else chosen[chosen["terms"] == terms]
    return values_by_seed(rows, chosen.set_index("seed")[column].astype(float))
