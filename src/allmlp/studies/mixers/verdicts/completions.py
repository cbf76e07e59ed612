"""The rule on what models write (001-29). The unit is the seed."""

import math
from dataclasses import replace

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import FLAT, LLAMA, of_model


def coherent_completions(evidence: Evidence) -> Finding:
    """001-29: names kept and repetition, mixer against transformer after the same time of training."""
    margin, near = evidence.margin["share_1"], evidence.margin["time_ratio_1"]
    rows = at_equal_time(evidence.table("completions"), evidence.table("cost"), near, evidence.scale)
    flat, llama = (of_model(rows, model).set_index("seed") for model in (FLAT, LLAMA))
    true = f"names kept {rows['true_names_kept_1'].mean():.2f}, repeated {rows['true_repeated_1'].mean():.2f}"
    beside = f"the stories themselves: {true}; seconds per step of {rows['clock'].iloc[0]}"
    differences = {
        "(a) names kept, mixer minus transformer": flat["names_kept_1"] - llama["names_kept_1"],
        "(b) repetition, transformer minus mixer": llama["repeated_1"] - flat["repeated_1"],
    }
    found = {name: better(values.to_numpy(float), margin, unit="share") for name, values in differences.items()}
    found = {name: replace(part, text=f"{part.text}; {beside}") for name, part in found.items()}
    return whole({name: _after(part, flat, llama, near) for name, part in found.items()})


def _after(finding: Finding, flat: pd.DataFrame, llama: pd.DataFrame, near: float) -> Finding:
    """The finding with the times of training in its text; undecided where either is over `near` times the other."""
    ours, theirs = flat["seconds"].median(), llama["seconds"].median()
    if math.isnan(ours) or math.isnan(theirs):
        return replace(finding, verdict="undecided", text=f"{finding.text}; how long they trained is not known")
    text = f"{finding.text}; after {FLAT} {ours:.0f} s, {LLAMA} {theirs:.0f} s"
    if max(ours, theirs) <= near * min(ours, theirs):
        return replace(finding, text=text)
    return replace(finding, verdict="undecided", text=f"{text}, not the same time, and no weights between are kept")


def at_equal_time(rows: pd.DataFrame, cost: pd.DataFrame, near: float, scale: str = "") -> pd.DataFrame:
    """One row per run of the mixer and the transformer: its last kept step within `near` times what both have had.

    `seconds` and `clock` are those of `budgets.by_one_clock`. Where a run has no kept step so early, its earliest one
    counts, where no time is known its last one.
    """
    trained = cost[cost["steps_done"].gt(0)].set_index("run")
    pair = pd.concat([of_model(rows, model) for model in (FLAT, LLAMA)])
    per_step = {
        "seconds_per_step": trained["seconds"] / trained["steps_done"],
        "flops_per_step": (trained["counted_flops"] / trained["steps_done"]).round(),
    }
    pair = pair.assign(**{name: pair["run"].map(values) for name, values in per_step.items()})
    pair = budgets.by_one_clock(pair, scale).sort_values("step")
    if pair["seconds"].isna().any():
        return pair.groupby("run").tail(1)
    budget = pair.groupby("run")["seconds"].max().min()
    within = pair[pair["seconds"].le(near * budget)]
    early = pair[~pair["run"].isin(within["run"])]
    return pd.concat([within.groupby("run").tail(1), early.groupby("run").head(1)])
