"""The rules on recovery of the input and on generated text (001-28, own-9, own-10, 001-29). The unit is the seed."""

import math
from dataclasses import replace
from typing import Literal

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_above, judge_all, judge_below, premise
from allmlp.judging.statistics import Finding, judge_better
from allmlp.report.names import display
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.names import EXPANDED, FLAT, LLAMA
from allmlp.studies.mixers.parts import model_rows

UNIT = "share of tokens"
FEW_HEADS = ("llama-2", "llama-4")
When = Literal["untrained", "trained"]


def input_recovered(evidence: Evidence) -> Finding:
    """001-28: of untrained mixers from later positions only, as the article does, of trained models from the whole last
    hidden layer, at the rates searched for each model."""
    poor = evidence.margin["poor_accuracy_1"]
    few = {model: _mean(evidence, model, "trained", "self") for model in FEW_HEADS}
    found = judge_all(
        {display(model): judge_below(values.to_numpy(), poor, unit=UNIT) for model, values in few.items()}
    )
    descent = judge_better(_mean(evidence, FLAT, "trained", "self").to_numpy(), poor).verdict == "reproduced"
    unmet = f"the descent is not shown to give back more than {poor:g} of a trained mixer's tokens either"
    parts = {
        "(a) untrained, flat minus expanded, from later positions": _share_difference(
            evidence, EXPANDED, "untrained", "non-self"
        ),
        "(b) trained, flat minus transformer": _share_difference(evidence, LLAMA, "trained", "self"),
        "(c) trained transformers with 2 or 4 heads": premise(found, unmet, holds=descent, of="reproduced"),
    }
    return require_all_parts(parts)


def others_recovered(evidence: Evidence) -> Finding:
    """001-own-9: trained, flat minus transformer, from the hidden layer at later positions only."""
    return _share_difference(evidence, LLAMA, "trained", "non-self")


def input_is_there(evidence: Evidence) -> Finding:
    """001-own-10: a search token by token finds the input from any of the trained models' hidden layers."""
    margin = evidence.margin["accuracy_1"]
    found = {model: _mean(evidence, model, "trained", "search") for model in (FLAT, LLAMA)}
    letters = zip("ab", found.items(), strict=True)
    findings = {
        letter: (model, judge_above(values.to_numpy(), margin, unit=UNIT)) for letter, (model, values) in letters
    }
    return require_all_parts({f"({letter}) {display(model)}": finding for letter, (model, finding) in findings.items()})


def shares(rows: pd.DataFrame, way: str, when: When) -> pd.DataFrame:
    """One row per run: untrained, or after its last step, the share recovered one way, descent by searched rates."""
    rows = rows[rows["way"].eq(way) & rows["rates"].isin(["searched", "none"])]
    steps = rows.groupby("run")["step"]
    wanted = rows["step"].eq(0) if when == "untrained" else rows["step"].eq(steps.transform("max")) & rows["step"].gt(0)
    return rows[wanted]


def _mean(evidence: Evidence, model: str, when: When, way: str, column: str = "recovered_1") -> "pd.Series[float]":
    """seed -> share. NotPlannedError if the model has no such weights."""
    rows = shares(evidence.table("recovery"), way, when)
    return model_rows(rows, model).set_index("seed")[column].astype(float)


def _share_difference(evidence: Evidence, other: str, when: When, way: str) -> Finding:
    """The flat mixer's share minus another model's, paired by seed, with both shares in the text.

    Premises: one of the two gives back some tokens, and the other model lacks enough of them for the margin.
    """
    ours, theirs = (_mean(evidence, model, when, way) for model in (FLAT, other))
    margin, floor = evidence.margin["accuracy_1"], evidence.margin["floor_1"]
    finding = judge_better((ours - theirs).to_numpy(), margin, unit=UNIT)
    found = any(judge_better(values.to_numpy(), floor).verdict == "reproduced" for values in (ours, theirs))
    finding = premise(finding, f"neither is shown to give back more than {floor:g} of the tokens", holds=found)
    unmet = (
        f"the {display(other)} gives back {theirs.mean():.2f} of the tokens, which leaves no room for {margin:g} more"
    )
    finding = premise(finding, unmet, holds=theirs.mean() + margin <= 1)
    nearest = [_mean(evidence, model, when, way, "nearest_1").mean() for model in (FLAT, other)]
    text = f"{display(FLAT)} {ours.mean():.2f}, {display(other)} {theirs.mean():.2f} "
    text += f"(by the nearest embedding {nearest[0]:.2f}, {nearest[1]:.2f})"
    return replace(finding, text=f"{text}; {finding.text}")


def coherent_completions(evidence: Evidence) -> Finding:
    """001-29: names kept and repetition, mixer against transformer after the same time of training."""
    margin, near = evidence.margin["share_1"], evidence.margin["time_ratio_1"]
    rows = equal_time_rows(evidence.table("completions"), evidence.table("cost"), near, evidence.scale)
    flat, llama = (model_rows(rows, model).set_index("seed") for model in (FLAT, LLAMA))
    true = f"names kept {rows['true_names_kept_1'].mean():.2f}, repeated {rows['true_repeated_1'].mean():.2f}"
    beside = f"the stories themselves: {true}; seconds per step of {rows['clock'].iloc[0]}"
    flat_off, llama_off = ((of["names_kept_1"] - of["true_names_kept_1"]).abs() for of in (flat, llama))
    differences = {
        "(a) names kept, distance from the stories, transformer minus mixer": llama_off - flat_off,
        "(b) repetition, transformer minus mixer": llama["repeated_1"] - flat["repeated_1"],
    }
    found = {name: judge_better(values.to_numpy(float), margin, unit="share") for name, values in differences.items()}
    found = {name: replace(part, text=f"{part.text}; {beside}") for name, part in found.items()}
    return require_all_parts({name: _require_near_times(part, flat, llama, near) for name, part in found.items()})


def _require_near_times(finding: Finding, flat: pd.DataFrame, llama: pd.DataFrame, near: float) -> Finding:
    """The finding with the times of training; the premise is that neither is more than `near` times the other."""
    ours, theirs = flat["seconds"].median(), llama["seconds"].median()
    if math.isnan(ours) or math.isnan(theirs):
        return premise(finding, "how long they trained is not known", holds=False)
    times = f"after {ours:.0f} s of the {display(FLAT)}, {theirs:.0f} s of the {display(LLAMA)}"
    unmet = f"{times}: not the same time, and no weights between are kept"
    finding = replace(finding, text=f"{finding.text}; {times}")
    return premise(finding, unmet, holds=max(ours, theirs) <= near * min(ours, theirs))


def equal_time_rows(rows: pd.DataFrame, cost: pd.DataFrame, near: float, scale: str = "") -> pd.DataFrame:
    """One row per run of the mixer and the transformer: its last kept step within `near` times their common time.

    `seconds` and `clock` are those of `budgets.add_clock`. A run without such an early kept step counts with its
    earliest one, a run of unknown time with its last one.
    """
    trained = cost[cost["steps_done"].gt(0)].set_index("run")
    pair = pd.concat([model_rows(rows, model) for model in (FLAT, LLAMA)])
    per_step = {
        "seconds_per_step": trained["seconds"] / trained["steps_done"],
        "flops_per_step": (trained["counted_flops"] / trained["steps_done"]).round(),
    }
    pair = pair.assign(**{name: pair["run"].map(values) for name, values in per_step.items()})
    pair = budgets.add_clock(pair, scale).sort_values("step", kind="stable")
    if pair["seconds"].isna().any():
        return pair.groupby("run").tail(1)
    budget = pair.groupby("run")["seconds"].max().min()
    within = pair[pair["seconds"].le(near * budget)]
    early = pair[~pair["run"].isin(within["run"])]
    return pd.concat([within.groupby("run").tail(1), early.groupby("run").head(1)])
