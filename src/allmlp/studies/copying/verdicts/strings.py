"""The comparison of architectures on strings (002-4, -5, own-4). The unit is the seed."""

import numpy as np
import pandas as pd

from allmlp.judging.evidence_summary import Rule
from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_all, judge_below, part_rows, premise, require_models
from allmlp.judging.statistics import Finding, make_finding, p_share_above, p_share_below, share_interval
from allmlp.report.names import display
from allmlp.spec.protocols import Evidence
from allmlp.studies.copying import convergence
from allmlp.studies.copying.parts import add_operations
from allmlp.studies.copying.verdicts.common import judge_faster
from allmlp.studies.shared.curve_statistics import end_mean

QUADRATIC = ("causal-rn", "transformer")
END = 0.05  # share of the steps
LINEAR = ("linear-causal-rn", "linear-transformer")


def similar_curves(evidence: Evidence) -> Finding:
    """002-4: CausalRN and Transformer end near zero, fall suddenly, and along nearly the same curve."""
    require_models(evidence, "learning_curve", QUADRATIC)
    of_seeds = _curve_numbers(part_rows(evidence.table("learning_curve"), "comparison")).groupby("seed").mean()
    margin = evidence.margin
    return require_all_parts(
        {
            "(a) loss at the end": _judge_each(of_seeds, "end", margin["end_loss_nats"], "nats"),
            "(b) steps of the fall over steps before it": _judge_each(of_seeds, "sharpness", margin["sharpness_1"]),
            "(c) gap between the curves over the plateau": judge_below(of_seeds["gap"].to_numpy(), margin["gap_1"]),
        }
    )


def iterations_to_99(evidence: Evidence) -> Finding:
    """002-5: CausalRN before Transformer, both before their linear forms; Linear CausalRN fails if long."""
    require_models(evidence, "iterations_to_99", (*QUADRATIC, *LINEAR))
    every_length, margin = evidence.table("iterations_to_99"), evidence.margin
    rows, speed = part_rows(every_length, "comparison"), margin["speed_log2"]
    return require_all_parts(
        {
            "(a) CausalRN before Transformer": judge_faster(rows, "causal-rn", "transformer", speed),
            "(b) Transformer before its linear form": judge_faster(rows, "transformer", "linear-transformer", speed),
            "(c) CausalRN before its linear form": judge_faster(rows, "causal-rn", "linear-causal-rn", speed),
            "(d) Linear CausalRN fails on long strings": _judge_failure(
                part_rows(every_length, "comparison", "long"), "linear-causal-rn", margin
            ),
        }
    )


def operations_to_99(evidence: Evidence) -> Finding:
    """002-own-4: does CausalRN arrive with fewer counted operations than the Transformer?"""
    require_models(evidence, "falls", QUADRATIC)
    rows = add_operations(part_rows(evidence.table("falls"), "comparison"), evidence.table("cost"))
    return judge_faster(rows, "causal-rn", "transformer", evidence.margin["cost_log2"], counted="operations")


def _judge_each(of_seeds: pd.DataFrame, name: str, limit: float, unit: str = "") -> Finding:
    """Is a number of each of the two models below the limit?"""
    return judge_all(
        {display(model): judge_below(of_seeds[f"{name} {model}"].to_numpy(), limit, unit) for model in QUADRATIC}
    )


def _curve_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per seed and string length: the gap between both models; end (nats) and sharpness of each, as
    `end causal-rn`.

    The steps that a diverged run lacks count with the plateau.
    """
    numbers, pairs = [], pd.MultiIndex.from_product([rows["seed"].unique(), QUADRATIC])
    for length in sorted(rows["string_length"].unique()):
        of_length = rows[(rows["string_length"] == length) & rows["model"].isin(QUADRATIC)]
        height, steps = convergence.plateau(int(length)), np.sort(of_length["step"].unique())
        losses = of_length.pivot(index="step", columns=["seed", "model"], values="loss_nats")
        losses = losses.reindex(columns=pairs).fillna(height)
        budget = int(steps[-1]) + 1
        for seed in rows["seed"].unique():
            curves = {model: losses[seed, model].to_numpy() for model in QUADRATIC}
            causal_rn, transformer = curves.values()
            row = {"seed": seed, "gap": convergence.gap(steps, causal_rn, transformer, height)}
            for model, curve in curves.items():
                row[f"end {model}"] = end_mean(steps, curve, END)
                row[f"sharpness {model}"] = convergence.sharpness(steps, curve, height, budget)
            numbers.append(row)
    return pd.DataFrame(numbers)


def _judge_failure(rows: pd.DataFrame, model: str, margin: dict[str, float]) -> Finding:
    """Do few seeds reach 99 % on the longest strings? Premise: they are as long as claimed."""
    of_model = rows[rows["model"] == model]
    longest = of_model["string_length"].max()
    reached = of_model.loc[of_model["string_length"] == longest, "reached"]
    k, n, limit = int(reached.sum()), len(reached), margin["reached_share_1"]
    text = f"{k} of {n} seeds reach 99 % at string length {longest}"
    p, p_against = p_share_below(k, n, limit), p_share_above(k, n, limit)
    finding = make_finding(
        Rule("few", limit, limit), reached, share_interval(k, n), "share of seeds", text, p, p_against
    )
    claimed = margin["string_length_tokens"]
    return premise(finding, f"the longest strings have {longest} letters, not {claimed:g}", holds=longest >= claimed)
