"""The rule on what models write (001-29). The unit is the seed."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.mixers import step_times
from allmlp.studies.mixers.budgets import TRAININGS
from allmlp.studies.mixers.parts import FLAT, LLAMA, of_model
from allmlp.studies.mixers.verdicts.common import BENCHMARKED


def coherent_completions(evidence: Evidence) -> Finding:
    """001-29: names kept and repetition, mixer against transformer after the same time of training."""
    margin, near = evidence.margin["share_1"], evidence.margin["time_ratio_1"]
    rows, clock = at_equal_time(evidence.table("completions"), evidence.table("cost"), near, evidence.scale)
    flat, llama = (of_model(rows, model).set_index("seed") for model in (FLAT, LLAMA))
    true = ", ".join(
        f"{name} {rows[column].mean():.2f}"
        for name, column in (("names kept", "true_names_kept_1"), ("repeated", "true_repeated_1"))
    )
    differences = {
        "(a) names kept, mixer minus transformer": flat["names_kept_1"] - llama["names_kept_1"],
        "(b) repetition, transformer minus mixer": llama["repeated_1"] - flat["repeated_1"],
    }
    found = {name: better(values.to_numpy(float), margin, unit="share") for name, values in differences.items()}
    return whole(
        {
            name: _after(
                replace(part, text=f"{part.text}; the stories themselves: {true}; seconds per step of {clock}"),
                flat,
                llama,
                near,
            )
            for name, part in found.items()
        }
    )


def _after(finding: Finding, flat: pd.DataFrame, llama: pd.DataFrame, near: float) -> Finding:
    """The finding with the times of training in its text; undecided where either is over `near` times the other."""
    ours, theirs = flat["seconds"].median(), llama["seconds"].median()
    if math.isnan(ours) or math.isnan(theirs):
        return replace(finding, verdict="undecided", text=f"{finding.text}; how long they trained is not known")
    text = f"{finding.text}; after {FLAT} {ours:.0f} s, {LLAMA} {theirs:.0f} s"
    if max(ours, theirs) <= near * min(ours, theirs):
        return replace(finding, text=text)
    return replace(finding, verdict="undecided", text=f"{text}, not the same time, and no weights between are kept")


def at_equal_time(rows: pd.DataFrame, cost: pd.DataFrame, near: float, scale: str = "") -> tuple[pd.DataFrame, str]:
    """One row per run of the mixer and the transformer: its last kept step within `near` times what both have had.

    A model's seconds per step are those of the benchmark; where that did not time both, the median over its seeds, but
    unknown at BENCHMARKED. Where a run has no kept step so early, its earliest one counts, where no time is known its
    last one: `seconds` says how long it took. Beside the rows whose seconds these are.
    """
    trained = cost[cost["steps_done"].gt(0)].set_index("run")
    rows = rows.assign(per_step=rows["run"].map(trained["seconds"] / trained["steps_done"]))
    pair = pd.concat([of_model(rows, model) for model in (FLAT, LLAMA)])
    clock, timed = TRAININGS, None
    if "counted_flops" in trained:
        per_step = pair["run"].map((trained["counted_flops"] / trained["steps_done"]).round())
        timed = step_times.of_models(pair.assign(flops_per_step=per_step))
    if timed is not None:
        names = [step_times.name_of(labels) for labels in pair.to_dict("records")]
        pair = pair.assign(per_step=[float(np.median(timed.seconds[name])) for name in names])
        clock = f"a benchmark on {timed.hardware}"
    elif scale == BENCHMARKED:
        pair = pair.assign(per_step=math.nan)
    seconds = pair["step"] * pair.groupby("variant")["per_step"].transform("median")
    pair = pair.assign(seconds=seconds).sort_values("step")
    if seconds.isna().any():
        return pair.groupby("run").tail(1), clock
    budget = pair.groupby("run")["seconds"].max().min()
    within = pair[pair["seconds"].le(near * budget)]
    early = pair[~pair["run"].isin(within["run"])]
    return pd.concat([within.groupby("run").tail(1), early.groupby("run").head(1)]), clock
