"""The rules of claims.yaml as tests: skills of families on tasks -> findings. The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.deciding import Rule, on
from allmlp.report.multiplicity import at_least, whole
from allmlp.report.statistics import Finding, Verdict, better
from allmlp.studies.crossing import compare
from allmlp.studies.crossing_rule import changes_hands
from allmlp.studies.crossover.families import all_mlp, attention_learnt, behind, best_variants, distances, scored
from allmlp.studies.crossover.ladders import FLAT, HYBRID, LLAMA, TEXT, best_widths, curves, of_width, spent
from allmlp.studies.rules import NotPlannedError, every, of_part, one_of, premise

UNIT = "of skill"


def stories_alike(evidence: Evidence) -> Finding:
    """all-own-1: is the all-MLP family that is least behind attention on stories within the margin?"""
    rows, margin = best_variants(scored(evidence.table("score"))), evidence.margin["skill_1"]
    differences = _behind(rows, "stories")
    level = 1 - 0.05 / len(differences)
    found = {family: _near(values, margin, level) for family, values in differences.items()}
    nearest = min(found, key=lambda family: found[family].value)
    text = f"least behind of {len(found)} families: {nearest}, behind attention by {found[nearest].text}"
    return _where_attention_learnt(one_of(found, nearest, text), rows, "stories")


def recall_apart(evidence: Evidence) -> Finding:
    """all-own-2: is every all-MLP family behind attention where several keys are asked for?"""
    rows, margin = best_variants(scored(evidence.table("score"))), evidence.margin["skill_1"]
    differences = _behind(rows, "multi-recall")
    decided = every({family: better(values, margin, unit=UNIT) for family, values in differences.items()})
    return _where_attention_learnt(decided, rows, "multi-recall")


def none_near_everywhere(evidence: Evidence) -> Finding:
    """all-own-3: has every all-MLP family a task on which it is behind attention? A family without one refutes it."""
    rows, margin = best_variants(scored(evidence.table("score"))), evidence.margin["skill_1"]
    learnt = {task for task in rows["task"].unique() if attention_learnt(rows, task)}
    of_families = {family: distances(rows, family) for family in all_mlp(rows)}
    parts = {
        family: _somewhere_behind(of_tasks, margin, learnt)
        for family, of_tasks in of_families.items()
        if len(of_tasks) > 1
    }
    if not parts:
        raise NotPlannedError("needs all-MLP families with two tasks or more, which are not planned")
    found, refuting = every(parts), [part for part in parts.values() if part.verdict == "contradicted"]
    p_against = at_least(part.p_against for part in parts.values())
    return replace(refuting[0] if refuting else found, text=found.text, p_against=p_against)


def lead_changes_hands(evidence: Evidence) -> Finding:
    """all-own-4: the flat mixer leads at the fewest operations, the Llama at the most, each at its best width."""
    rows = _text(evidence)
    return _overtaken(evidence, best_widths(rows, FLAT), best_widths(rows, LLAMA))


def at_every_width(evidence: Evidence) -> Finding:
    """all-own-5: the same at each width, and of a hybrid in the Llama's place."""
    rows = _text(evidence)
    found = {
        f"({letter}) width {width}": _overtaken(evidence, of_width(rows, FLAT, width), of_width(rows, LLAMA, width))
        for letter, width in zip("abc", (32, 64, 128), strict=True)
    }
    hybrid = _overtaken(evidence, best_widths(rows, FLAT), best_widths(rows, HYBRID), "the hybrid")
    return whole({**found, "(d) the hybrid, each at its best width": hybrid})


def _text(evidence: Evidence) -> pd.DataFrame:
    return spent(of_part(evidence.table("score"), TEXT), evidence.table("cost"))


def _overtaken(evidence: Evidence, mixer: pd.DataFrame, other: pd.DataFrame, name: str = "the Llama") -> Finding:
    course, margin = compare(curves(mixer), curves(other)), evidence.margin
    limits = {"margin": margin["loss_nats"], "factor": margin["interval_factor_1"]}
    return changes_hands(course, "the flat mixer", name, **limits)


def _where_attention_learnt(finding: Finding, rows: pd.DataFrame, task: str) -> Finding:
    """The finding; its premise is that attention has demonstrably learnt the task: being near it means nothing else."""
    return premise(finding, f"attention is not shown to have learnt {task}", holds=attention_learnt(rows, task))


def _behind(rows: pd.DataFrame, task: str) -> dict[str, np.ndarray]:
    """family -> how far it is behind attention on a task; NotPlannedError if none is measured."""
    found = {family: values for family in all_mlp(rows) if (values := behind(rows, family, task)) is not None}
    if not found:
        raise NotPlannedError(f"needs attention and an all-MLP family on {task}, which are not planned")
    return found


def _somewhere_behind(of_tasks: dict[str, np.ndarray], margin: float, learnt: set[str]) -> Finding:
    """The task on which a family is most clearly behind, corrected for the number of tasks.

    Contradicted: it is near on all tasks, and two or more of them are `learnt` by attention.
    """
    level = 1 - 0.05 / len(of_tasks)
    found = {task: better(values, margin, level, UNIT) for task, values in of_tasks.items()}
    worst = max(found, key=lambda task: found[task].low)
    nearness = [_near(values, margin) for values in of_tasks.values()]
    near = all(finding.verdict == "reproduced" for finding in nearness)
    shown = len(learnt & set(of_tasks))
    where = f"near on all {len(found)} tasks, {shown} of which attention learnt, most" if near else "most"
    finding = one_of(found, worst, f"{where} behind on {worst}: {found[worst].text}")
    holds: Verdict = "reproduced" if finding.verdict == "reproduced" else "undecided"
    p_against = at_least((near.p for near in nearness), len(nearness))
    return replace(finding, verdict="contradicted" if near and shown > 1 else holds, p_against=p_against)


def _near(values: np.ndarray, margin: float, level: float = 0.95) -> Finding:
    """Is a family less than the margin behind? `better` with the sign turned; its numbers are those of `values`.

    values: (n,), how far it is behind, by seed. Upper end below the margin: reproduced. Lower end above: contradicted.
    """
    mirrored = better(-values, -margin, level, UNIT)
    rests = {"": on(Rule("below", margin, margin, level), values)}
    finding = better(values, margin, level, UNIT)
    return replace(finding, verdict=mirrored.verdict, p=mirrored.p, rests=rests, p_against=mirrored.p_against)
