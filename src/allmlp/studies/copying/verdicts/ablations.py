"""The effect of each part of CausalRN, with one changed at a time (002-1, -2, -3). The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.evidence_summary import FEWEST_SEEDS, Rule
from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_all, withhold_verdict
from allmlp.judging.statistics import Finding, judge_better, make_finding, p_share_above, p_share_below, share_interval
from allmlp.report.names import display
from allmlp.spec.protocols import Evidence
from allmlp.studies.copying.parts import PUBLISHED, variants
from allmlp.studies.copying.parts import sharpness as sharpness_of


def stability(evidence: Evidence) -> Finding:
    """002-1: does the loss jump up again without the post-reduction norm, where it does not with it?"""
    every, margin = evidence.table("rises"), evidence.margin
    rows = pd.concat([variants(every, "no-post-norm"), every[every["part"].eq("stability")]], ignore_index=True)
    diverged, rise = (_pivot_variants(rows, name) for name in ("diverged", "rise_nats"))
    ended = _pivot_variants(rows, "learned") | diverged
    pairs = ended.all(axis=1)
    jumps = ((rise > margin["jump_nats"]) | diverged)[pairs]
    without, with_norm, n = jumps["no-post-norm"], jumps[PUBLISHED], int(pairs.sum())
    alone = int((without & ~with_norm).sum())
    counts = (
        f"the loss jumps up again in {int(without.sum())} of {n} seeds without the norm, in {int(with_norm.sum())} with"
        f" it, in {alone} without it alone; {len(pairs) - n} of {len(pairs)} seeds had a run that never learned to copy"
    )
    differ, limit = with_norm[without != with_norm].to_numpy(dtype=float), 0.5
    others, interval = int(differ.sum()), share_interval(alone, n)
    text = f"{counts}; 95 % interval of that share {interval.low:.3g} to {interval.high:.3g}"
    p, p_against = (share(others, len(differ), limit) for share in (p_share_below, p_share_above))
    finding = make_finding(Rule("few", limit, limit), differ, interval, "share of seeds", text, p, p_against)
    if finding.verdict == "undecided" and n >= FEWEST_SEEDS and interval.high < margin["prevented_share_1"]:
        p_against = p_share_below(alone, n, margin["prevented_share_1"])
        return replace(finding, verdict="contradicted", p_against=p_against)
    return finding


def phase_change(evidence: Evidence) -> Finding:
    """002-2: does the loss fall suddenly with the exact pre-norm only?"""
    others = ("approximate-pre-norm", "no-pre-norm")
    rows = variants(evidence.table("iterations_to_99"), *others)
    falls = _pivot_variants(rows, "fall_nats")
    margin, unit = evidence.margin["fall_nats"], "nats within 25 iterations"
    finding = judge_all(
        {
            f"against {display(other)}": judge_better((falls[PUBLISHED] - falls[other]).to_numpy(), margin, unit=unit)
            for other in others
        }
    )
    return _withhold_unfinished(finding, rows, rows["reached"] | rows["diverged"])


def activations(evidence: Evidence) -> Finding:
    """002-3: is the exponential faster than ReLU and ELU, and is its fall sharper?"""
    rows, margin = variants(evidence.table("falls"), "relu", "elu"), evidence.margin
    speed = _pivot_variants(rows, "to_half_steps").clip(lower=1)
    sharpness = _pivot_variants(rows.assign(sharpness=sharpness_of(rows).clip(lower=1e-9)), "sharpness")
    parts = {
        "(a) faster to half the plateau": (speed, margin["speed_log2"], ["fell_to_half"]),
        "(b) a sharper fall": (sharpness, margin["sharpness_log2"], ["fell_to_half", "fell"]),
    }
    findings = {}
    for name, (values, limit, flags) in parts.items():
        slower = {}
        for other in ("relu", "elu"):
            finding = judge_better(np.log2(values[other] / values[PUBLISHED]), limit, unit="log2")
            censored = not rows.loc[rows["variant"].eq(other), flags].all(axis=None)
            reason = f"{display(other)} is censored"
            slower[display(other)] = withhold_verdict(finding, "contradicted", reason, when=censored)
        findings[name] = judge_all(slower)
    sharp = "(b) a sharper fall"
    findings[sharp] = _withhold_unfinished(findings[sharp], rows, rows["fell"] | rows["diverged"])
    return require_all_parts(findings)


def _withhold_unfinished(finding: Finding, rows: pd.DataFrame, over: pd.Series) -> Finding:
    """The finding on a fall; undecided if a run behind it may still fall later.

    over: for each row, is no later fall possible? `reproduced` needs this for the compared variants, `contradicted` for
    the published CausalRN.
    """
    early, published = rows[~over], rows["variant"].eq(PUBLISHED)
    counts = early.groupby("variant").size()
    late = ", ".join(f"{name} {count} of {(rows['variant'] == name).sum()}" for name, count in counts.items())
    reason = f"runs that have not arrived may fall yet ({late})"
    finding = withhold_verdict(finding, "reproduced", reason, when=bool((~over & ~published).any()))
    return withhold_verdict(finding, "contradicted", reason, when=bool((~over & published).any()))


def _pivot_variants(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.pivot(index="seed", columns="variant", values=column)
