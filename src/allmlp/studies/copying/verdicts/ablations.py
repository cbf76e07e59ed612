"""The effect of each part of CausalRN, with one changed at a time (002-1, -2, -3). The unit is the seed."""

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.copying import convergence
from allmlp.studies.copying.parts import PUBLISHED, variants
from allmlp.studies.copying.parts import sharpness as sharpness_of
from allmlp.studies.rules import withheld


def stability(evidence: Evidence) -> Finding:
    """002-1: is training without the post-reduction norm less stable?"""
    rows = variants(evidence.table("learning_curve"), "no-post-norm")
    runs = variants(evidence.table("falls"), "no-post-norm").set_index(["seed", "variant"])
    height = convergence.plateau(int(rows["string_length"].iloc[0]))
    differences = []
    for seed, diverged in runs["diverged"].astype(bool).groupby("seed"):
        curves = rows[rows["seed"] == seed].pivot(index="step", columns="variant", values="loss_nats")
        differences.append(_difference_of_instability(curves, diverged.droplevel("seed"), height))
    return better(differences, evidence.margin["instability_nats"], unit="nats")


def phase_change(evidence: Evidence) -> Finding:
    """002-2: does the loss fall suddenly with the exact pre-norm only?"""
    others = ("approximate-pre-norm", "no-pre-norm")
    rows = variants(evidence.table("iterations_to_99"), *others)
    falls = _by_variant(rows, "fall_nats")
    differences = falls[PUBLISHED] - falls[list(others)].max(axis=1, skipna=False)
    finding = better(differences.to_numpy(), evidence.margin["fall_nats"], unit="nats within 25 iterations")
    return _unless_to_come(finding, rows, rows["reached"] | rows["diverged"])


def activations(evidence: Evidence) -> Finding:
    """002-3: is the exponential faster than ReLU and ELU, and is its fall sharper?"""
    rows, margin = variants(evidence.table("falls"), "relu", "elu"), evidence.margin
    speed = _by_variant(rows, "to_half_steps").clip(lower=1)
    sharpness = _by_variant(rows.assign(sharpness=sharpness_of(rows).clip(lower=1e-9)), "sharpness")
    slow = rows[rows["variant"] != PUBLISHED]
    parts = {
        "(a) faster to half the plateau": (speed, margin["speed_log2"], ["fell_to_half"]),
        "(b) a sharper fall": (sharpness, margin["sharpness_log2"], ["fell_to_half", "fell"]),
    }
    findings = {}
    for name, (values, limit, flags) in parts.items():
        slower = np.log2(np.minimum(values["relu"], values["elu"]) / values[PUBLISHED])
        finding = better(slower.to_numpy(), limit, unit="log2")
        censored = not slow[flags].all(axis=None)
        findings[name] = withheld(finding, "contradicted", "ReLU or ELU is censored", when=censored)
    sharp = "(b) a sharper fall"
    findings[sharp] = _unless_to_come(findings[sharp], rows, rows["fell"] | rows["diverged"])
    return whole(findings)


def _unless_to_come(finding: Finding, rows: pd.DataFrame, over: pd.Series) -> Finding:
    """The finding on a fall; undecided if a run behind it may still fall later.

    over: for each row, is no later fall possible? `reproduced` needs this for the compared variants, `contradicted` for
    the published CausalRN.
    """
    early, published = rows[~over], rows["variant"].eq(PUBLISHED)
    counts = early.groupby("variant").size()
    late = ", ".join(f"{name} {count} of {(rows['variant'] == name).sum()}" for name, count in counts.items())
    reason = f"runs that have not arrived may fall yet ({late})"
    finding = withheld(finding, "reproduced", reason, when=bool((~over & ~published).any()))
    return withheld(finding, "contradicted", reason, when=bool((~over & published).any()))


def _by_variant(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.pivot(index="seed", columns="variant", values=column)


def _difference_of_instability(curves: pd.DataFrame, diverged: pd.Series, height: float) -> float:
    """Mean change of the loss from step to step without the norm, minus with it, once either is below half the plateau.

    curves: (steps, variants). A run that diverged counts with the plateau; NaN where neither fell.
    """
    steps = curves.index.to_numpy()
    fell = [
        convergence.fell_to(steps[: curve.count()], curve.dropna().to_numpy(), height / 2)
        for _, curve in curves.items()
    ]
    begins = min((step for step in fell if step is not None), default=None)
    if begins is None:
        return float("nan")
    changes = curves.loc[begins:].diff().abs().mean().reindex(diverged.index).mask(diverged, height)
    return float(changes["no-post-norm"] - changes[PUBLISHED])
