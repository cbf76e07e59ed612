"""The rules of claims.yaml as tests: skills of families on tasks -> findings. The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.evidence_summary import Rule, apply_rule
from allmlp.judging.multiplicity import partial_conjunction, require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_all, judge_best, part_rows, premise
from allmlp.judging.statistics import Finding, Verdict, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.crossover.families import (
    all_mlp_families,
    best_variants,
    distances,
    has_attention_learnt,
    order_scores,
    skill_gaps,
)
from allmlp.studies.crossover.ladders import FLAT, HYBRID, LLAMA, TEXT, add_operations, best_widths, curves, width_rows
from allmlp.studies.shared.crossing import compare
from allmlp.studies.shared.crossing_rule import judge_lead_change

UNIT = "of skill"


def stories_alike(evidence: Evidence) -> Finding:
    """all-own-1: is the all-MLP family that is least behind attention on stories within the margin?"""
    rows, margin = best_variants(order_scores(evidence.table("score"))), evidence.margin["skill_1"]
    differences = _family_distances(rows, "stories")
    level = 1 - 0.05 / len(differences)
    found = {family: _judge_nearness(values, margin, level) for family, values in differences.items()}
    nearest = min(found, key=lambda family: found[family].value)
    text = f"least behind of {len(found)} families: {nearest}, behind attention by {found[nearest].text}"
    return _require_attention(judge_best(found, nearest, text), rows, "stories")


def recall_apart(evidence: Evidence) -> Finding:
    """all-own-2: is every all-MLP family behind attention where several keys are asked for?"""
    rows, margin = best_variants(order_scores(evidence.table("score"))), evidence.margin["skill_1"]
    differences = _family_distances(rows, "multi-recall")
    decided = judge_all({family: judge_better(values, margin, unit=UNIT) for family, values in differences.items()})
    return _require_attention(decided, rows, "multi-recall")


def none_near_everywhere(evidence: Evidence) -> Finding:
    """all-own-3: has every all-MLP family a task on which it is behind attention? A family without one refutes it."""
    rows, margin = best_variants(order_scores(evidence.table("score"))), evidence.margin["skill_1"]
    learnt = {task for task in rows["task"].unique() if has_attention_learnt(rows, task)}
    of_families = {family: distances(rows, family) for family in all_mlp_families(rows)}
    parts = {
        family: _judge_worst_task(of_tasks, margin, learnt)
        for family, of_tasks in of_families.items()
        if len(of_tasks) > 1
    }
    if not parts:
        raise NotPlannedError("needs all-MLP families with two tasks or more, which are not planned")
    found, refuting = judge_all(parts), [part for part in parts.values() if part.verdict == "contradicted"]
    p_against = partial_conjunction(part.p_against for part in parts.values())
    return replace(refuting[0] if refuting else found, text=found.text, p_against=p_against)


def lead_changes_hands(evidence: Evidence) -> Finding:
    """all-own-4: the flat mixer leads at the fewest operations, the Llama at the most, each at its best width."""
    rows = _text(evidence)
    return _judge_overtaking(evidence, best_widths(rows, FLAT), best_widths(rows, LLAMA))


def at_every_width(evidence: Evidence) -> Finding:
    """all-own-5: the same at each width, and of a hybrid in the Llama's place."""
    rows = _text(evidence)
    found = {
        f"({letter}) width {width}": _judge_overtaking(
            evidence, width_rows(rows, FLAT, width), width_rows(rows, LLAMA, width)
        )
        for letter, width in zip("abc", (32, 64, 128), strict=True)
    }
    hybrid = _judge_overtaking(evidence, best_widths(rows, FLAT), best_widths(rows, HYBRID), "the hybrid")
    return require_all_parts({**found, "(d) the hybrid, each at its best width": hybrid})


def _text(evidence: Evidence) -> pd.DataFrame:
    return add_operations(part_rows(evidence.table("score"), TEXT), evidence.table("cost"))


def _judge_overtaking(evidence: Evidence, mixer: pd.DataFrame, other: pd.DataFrame, name: str = "the Llama") -> Finding:
    course, margin = compare(curves(mixer), curves(other)), evidence.margin
    limits = {"margin": margin["loss_nats"], "factor": margin["interval_factor_1"]}
    return judge_lead_change(course, "the flat mixer", name, **limits)


def _require_attention(finding: Finding, rows: pd.DataFrame, task: str) -> Finding:
    """The finding; its premise is that attention has demonstrably learnt the task: being near it means nothing else."""
    return premise(finding, f"attention is not shown to have learnt {task}", holds=has_attention_learnt(rows, task))


def _family_distances(rows: pd.DataFrame, task: str) -> dict[str, np.ndarray]:
    """family -> how far it is behind attention on a task; NotPlannedError if none is measured."""
    found = {
        family: values for family in all_mlp_families(rows) if (values := skill_gaps(rows, family, task)) is not None
    }
    if not found:
        raise NotPlannedError(f"needs attention and an all-MLP family on {task}, which are not planned")
    return found


def _judge_worst_task(of_tasks: dict[str, np.ndarray], margin: float, learnt: set[str]) -> Finding:
    """The task, of those that are `learnt` by attention, on which a family is most clearly behind, corrected for their
    number.

    Contradicted: it is near on all tasks, and two or more of them are `learnt` by attention.
    """
    asked = {task: values for task, values in of_tasks.items() if task in learnt} or of_tasks
    level = 1 - 0.05 / len(asked)
    found = {task: judge_better(values, margin, level, UNIT) for task, values in asked.items()}
    worst = max(found, key=lambda task: found[task].low)
    nearness = [_judge_nearness(values, margin) for values in of_tasks.values()]
    near = all(finding.verdict == "reproduced" for finding in nearness)
    shown = len(learnt & set(of_tasks))
    where = f"near on all {len(of_tasks)} tasks, {shown} of which attention learnt, most" if near else "most"
    finding = judge_best(found, worst, f"{where} behind on {worst}: {found[worst].text}")
    finding = premise(finding, "attention is not shown to have learnt any of its tasks", holds=shown > 0)
    holds: Verdict = "reproduced" if finding.verdict == "reproduced" else "undecided"
    p_against = partial_conjunction((near.p for near in nearness), len(nearness))
    return replace(finding, verdict="contradicted" if near and shown > 1 else holds, p_against=p_against)


def _judge_nearness(values: np.ndarray, margin: float, level: float = 0.95) -> Finding:
    """Is a family less than the margin behind? `judge_better` with the sign turned; its numbers are those of `values`.

    values: (n,), how far it is behind, by seed. Upper end below the margin: reproduced. Lower end above: contradicted.
    """
    mirrored = judge_better(-values, -margin, level, UNIT)
    rests = {"": apply_rule(Rule("below", margin, margin, level), values)}
    finding = judge_better(values, margin, level, UNIT)
    return replace(finding, verdict=mirrored.verdict, p=mirrored.p, rests=rests, p_against=mirrored.p_against)
