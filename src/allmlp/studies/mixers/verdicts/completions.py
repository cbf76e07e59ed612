"""The rule on what models write (001-29). The unit is the seed."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.mixers.parts import FLAT, LLAMA, of_model

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

NEAR = 1.1  # two runs within a tenth of each other have trained for the same time


def coherent_completions(evidence: "Evidence") -> Finding:
    """001-29: names kept and repetition, mixer against transformer after the same time of training."""
    rows, margin = at_equal_time(evidence.table("completions"), evidence.table("cost")), evidence.margin["share_1"]
    flat, llama = (of_model(rows, model).set_index("seed") for model in (FLAT, LLAMA))
    taken = ", ".join(f"{name} {rows['seconds'].median():.0f} s" for name, rows in ((FLAT, flat), (LLAMA, llama)))
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
            name: replace(part, text=f"{part.text}; after {taken}; the stories themselves: {true}")
            for name, part in found.items()
        }
    )


def at_equal_time(rows: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """One row per run of the mixer and the transformer: its last kept step within the time that both have had.

    A model's seconds per step are the median over its seeds. Where no time is known, and where a run has no kept step
    so early, its earliest one counts and `seconds` says how long it took.
    """
    trained = cost[cost["steps_done"].gt(0)].set_index("run")
    rows = rows.assign(per_step=rows["run"].map(trained["seconds"] / trained["steps_done"]))
    pair = pd.concat([of_model(rows, model) for model in (FLAT, LLAMA)])
    seconds = pair["step"] * pair.groupby("variant")["per_step"].transform("median")
    pair = pair.assign(seconds=seconds).sort_values("step")
    if seconds.isna().any():
        return pair.groupby("run").tail(1)
    budget = pair.groupby("run")["seconds"].max().min()
    within = pair[pair["seconds"].le(NEAR * budget)]
    early = pair[~pair["run"].isin(within["run"])]
    return pd.concat([within.groupby("run").tail(1), early.groupby("run").head(1)])
